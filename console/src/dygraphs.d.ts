// The part of dygraphs that the console uses; Debian's package has no types.
declare module "dygraphs" {
  interface Options {
    [name: string]: unknown;
  }
  export default class Dygraph {
    static PLUGINS: unknown[];
    static Plugins: { Legend: unknown };
    constructor(box: HTMLElement, data: (Date | number)[][], options: Options);
    updateOptions(options: Options): void;
    destroy(): void;
  }
}
