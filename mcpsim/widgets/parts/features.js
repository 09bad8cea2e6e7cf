// The features of every player, in the order of their buttons.

const FEATURES = [Share, Export, Menu];
