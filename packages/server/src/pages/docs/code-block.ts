import { highlight } from './highlight.ts'

/**
 * HTML of a code block that scrolls by itself, also with the keyboard, and has a copy button. `enableCopying` copies the text
 * of the block; the button is hidden without JavaScript.
 * @param language such as `sh`; empty: none
 */
export function codeBlock(code: string, language: string): string {
  return (
    `<div class="code"><pre tabindex="0"><code>${highlight(code, language)}</code></pre>` +
    '<button type="button" class="code-copy" data-copy="">' +
    '<span data-copy-word aria-live="polite">Copy</span><span class="sr-only"> the code</span></button></div>\n'
  )
}
