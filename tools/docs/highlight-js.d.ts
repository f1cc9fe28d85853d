/**
 * The part of highlight.js that is used (tsconfig.json, `paths`). Its own types bring the browser's globals into every file, and
 * types of Node no longer fit.
 */
interface HighlightJs {
  registerLanguage(name: string, language: unknown): void
  configure(options: { readonly classPrefix: string }): void
  getLanguage(name: string): object | undefined
  highlight(
    code: string,
    options: { readonly language: string; readonly ignoreIllegals: boolean },
  ): { readonly value: string }
}

declare const module: HighlightJs
export default module
