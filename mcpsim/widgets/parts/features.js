// The features of every player, in the order of their buttons.

const FEATURES = [Find, Folding, Scale, Predict, Projector, Branch, Share, Export, Menu];
