// The part of dygraphs that the console uses; Debian's package has no types.
declare module "dygraphs" {
  interface Options {
    [name: string]: unknown;
  }
  export default class Dygraph {
    constructor(box: HTMLElement, data: (Date | number)[][], options: Options);
    updateOptions(options: Options): void;
    destroy(): void;
  }
}
