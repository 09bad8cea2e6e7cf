// Where things are in the picture, and which of them are in view: found without looking at all of them.

const LABEL_HEIGHT = 27;
const BELOW = 13;
// What is higher than this is looked at each time; there are few such things.
const LONG = 600;

// Heights without the rows of the steps that are not shown. To scale, what is not shown still takes its time.
class Heights {
  constructor(data, scaled, hidden) {
    this.scaled = scaled;
    this.starts = [];
    this.removed = [0];
    if (!scaled) {
      for (const step of data.steps) {
        if (!hidden.has(step.n)) continue;
        this.starts.push(step.y - LABEL_HEIGHT);
        this.removed.push(this.removed.length * ROW_HEIGHT);
      }
    }
    this.total = this.at(scaled ? data.scaled_height : data.height);
  }

  at(y) {
    let [low, high] = [0, this.starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= y) low = middle + 1;
      else high = middle;
    }
    if (!low) return y;
    const start = this.starts[low - 1];
    return Math.max(start, y - ROW_HEIGHT) - this.removed[low - 1];
  }

  of(step) {
    return this.at(this.scaled ? step.scaled : step.y);
  }

  // Where the arrow of a step arrives; null where it does not.
  end(step) {
    const y = this.scaled ? step.scaled2 : step.y2;
    return y === null || y === undefined ? null : this.at(y);
  }

  bar(bar) {
    const [top, bottom] = this.scaled ? bar.scaled : [bar.y, bar.y2];
    return [this.at(top), this.at(bottom)];
  }

  mark(mark) {
    return this.at(mark[this.scaled ? 2 : 1]);
  }
}

// Things with a top and a bottom, and those of them that are in view.
class Spans {
  constructor(items, ends) {
    this.short = [];
    this.long = [];
    for (const item of items) {
      const [top, bottom] = ends(item);
      (bottom - top > LONG ? this.long : this.short).push({ item, top, bottom });
    }
    this.short.sort((a, b) => a.top - b.top);
  }

  within(top, bottom) {
    let [low, high] = [0, this.short.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.short[middle].top < top - LONG) low = middle + 1;
      else high = middle;
    }
    const found = this.long.filter((one) => one.bottom >= top && one.top <= bottom);
    for (; low < this.short.length && this.short[low].top <= bottom; low++) {
      if (this.short[low].bottom >= top) found.push(this.short[low]);
    }
    return found.map((one) => one.item);
  }
}
