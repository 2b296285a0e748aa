// The replay: frames are deltas on one list of drawing commands. Whole lists are kept every KEY_EVERY frames, made once
// at load, so that any frame is reached by applying fewer than KEY_EVERY deltas.

const KEY_EVERY = 64;
const KIND_NUMBERS = [4, 3, 5]; // rect, circle, line
const SPEEDS = [0.25, 0.5, 1, 2, 4];
const SPEED_LABELS = ["\u00bc\u00d7", "\u00bd\u00d7", "1\u00d7", "2\u00d7", "4\u00d7"];
const HOLD_SECONDS = 0.9; // the last frame stays this long before the replay begins again

class Frames {
  /** packed: columns as the page embeds them; draws[i] is index, kind, colour, numbers..., one after the other. */
  constructor(packed) {
    this.packed = packed;
    this.length = packed.counts.length;
    this.keys = [];
    this.kept = [];
    this.at = -1;
    for (let frame = 0; frame < this.length; frame++) {
      this.apply(frame);
      if (frame % KEY_EVERY === 0) this.keys.push(this.kept.slice());
    }
    // An episode begins where the return does not continue from the frame before.
    this.episode = [];
    let episode = 1;
    for (let frame = 0; frame < this.length; frame++) {
      const before = frame ? packed.returns[frame - 1] : 0;
      const carried = before + packed.rewards[frame];
      if (frame && Math.abs(carried - packed.returns[frame]) > 1e-4 * Math.max(1, Math.abs(carried))) episode++;
      this.episode.push(episode);
    }
  }

  apply(frame) {
    const draw = this.packed.draws[frame];
    for (let i = 0; i < draw.length;) {
      const size = 3 + KIND_NUMBERS[draw[i + 1]];
      this.kept[draw[i]] = draw.slice(i + 1, i + size);
      i += size;
    }
    this.at = frame;
  }

  /** The commands of a frame, whichever frame was asked for before. */
  commands(frame) {
    if (frame < this.at || frame - this.at > KEY_EVERY) {
      const key = Math.floor(frame / KEY_EVERY);
      this.kept = this.keys[key].slice();
      this.at = key * KEY_EVERY;
    }
    while (this.at < frame) this.apply(this.at + 1);
    return this.kept.slice(0, this.packed.counts[frame]);
  }
}

class Replay {
  constructor(packed) {
    this.frames = new Frames(packed);
    this.packed = packed;
    this.frame = 0;
    this.speed = 1;
    this.playing = false;
    this.clock = null;
    this.owed = 0; // frames that time has earned and that are not shown yet
    const find = (id) => document.getElementById(id);
    this.canvas = find("canvas");
    this.context = this.canvas.getContext("2d");
    this.scrubber = find("scrubber");
    this.playButton = find("play");
    this.fields = { reward: find("replay-reward"), total: find("replay-return"), frame: find("replay-frame"), episode: find("replay-episode") };
    this.scrubber.max = String(this.frames.length - 1);
    find("replay").hidden = false;
    find("replay-episode-row").hidden = this.frames.episode[this.frames.length - 1] === 1;
    this.canvas.style.aspectRatio = `${packed.width} / ${packed.height}`;
    this.canvas.style.maxWidth = `${Math.round(500 * packed.width / packed.height)}px`;
    this.canvas.parentElement.style.background = packed.background;
    this.playButton.addEventListener("click", () => this.toggle());
    this.canvas.addEventListener("click", () => this.toggle());
    find("back").addEventListener("click", () => this.step(-1));
    find("forward").addEventListener("click", () => this.step(1));
    this.scrubber.addEventListener("input", () => this.seek(Number(this.scrubber.value)));
    this.speedButtons = SPEEDS.map((speed, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = SPEED_LABELS[place];
      button.setAttribute("aria-label", `Speed ${speed}`);
      button.dataset.speed = String(speed);
      button.addEventListener("click", () => this.setSpeed(speed));
      find("speeds").append(button);
      return button;
    });
    document.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.setSpeed(1);
    this.resize();
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) this.play();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const onControl = event.target.closest && event.target.closest("button, input, a, svg");
    const action = {
      " ": () => this.toggle(), ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1),
      Home: () => this.seek(0), End: () => this.seek(this.frames.length - 1),
      "[": () => this.faster(-1), "]": () => this.faster(1),
    }[event.key];
    if (!action || (onControl && !(event.key === " " && event.target === this.scrubber))) return;
    event.preventDefault();
    action();
  }

  faster(by) {
    const place = SPEEDS.indexOf(this.speed) + by;
    if (SPEEDS[place]) this.setSpeed(SPEEDS[place]);
  }

  setSpeed(speed) {
    this.speed = speed;
    for (const button of this.speedButtons) button.setAttribute("aria-pressed", String(Number(button.dataset.speed) === speed));
  }

  toggle() { if (this.playing) this.pause(); else this.play(); }

  play() {
    this.playing = true;
    this.clock = null;
    this.owed = 0;
    this.reflect();
    requestAnimationFrame((now) => this.tick(now));
  }

  pause() {
    this.playing = false;
    this.reflect();
  }

  reflect() {
    this.playButton.classList.toggle("playing", this.playing);
    this.playButton.setAttribute("aria-label", this.playing ? "Pause" : "Play");
  }

  step(by) {
    this.pause();
    this.seek(Math.min(this.frames.length - 1, Math.max(0, this.frame + by)));
  }

  seek(frame) {
    this.frame = frame;
    this.owed = 0;
    this.draw();
  }

  tick(now) {
    if (!this.playing) return;
    const passed = this.clock === null ? 0 : Math.min(0.25, (now - this.clock) / 1000); // a hidden tab earns nothing
    this.clock = now;
    this.owed += passed * this.packed.fps * this.speed;
    const last = this.frames.length - 1;
    if (this.frame === last) {
      if (this.owed >= HOLD_SECONDS * this.packed.fps * this.speed) this.seek(0);
    } else if (this.owed >= 1) {
      const whole = Math.floor(this.owed);
      this.owed -= whole;
      this.frame = Math.min(last, this.frame + whole);
      if (this.frame === last) this.owed = 0;
      this.draw();
    }
    requestAnimationFrame((later) => this.tick(later));
  }

  /** One canvas pixel a device pixel, so that edges are crisp on every screen. */
  resize() {
    const box = this.canvas.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(box.width * ratio)), height = Math.max(1, Math.round(box.height * ratio));
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.draw();
  }

  draw() {
    const { context, packed, canvas } = this;
    const scale = Math.min(canvas.width / packed.width, canvas.height / packed.height);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = packed.background;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.setTransform(scale, 0, 0, scale, (canvas.width - scale * packed.width) / 2, (canvas.height - scale * packed.height) / 2);
    context.lineCap = "round";
    for (const [kind, colour, a, b, c, d, e] of this.frames.commands(this.frame)) {
      context.fillStyle = context.strokeStyle = packed.colours[colour];
      if (kind === 0) {
        context.fillRect(a, b, c, d);
      } else {
        context.beginPath();
        if (kind === 1) {
          context.arc(a, b, Math.max(0, c), 0, 2 * Math.PI);
          context.fill();
        } else {
          context.lineWidth = e;
          context.moveTo(a, b);
          context.lineTo(c, d);
          context.stroke();
        }
      }
    }
    this.scrubber.value = String(this.frame);
    this.fields.total.textContent = formatNumber(packed.returns[this.frame]);
    this.fields.reward.textContent = formatNumber(packed.rewards[this.frame]);
    this.fields.frame.textContent = `${this.frame + 1} of ${this.frames.length}`;
    this.fields.episode.textContent = `${this.frames.episode[this.frame]} of ${this.frames.episode[this.frames.length - 1]}`;
  }
}
