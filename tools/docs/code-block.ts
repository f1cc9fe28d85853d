import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import go from 'highlight.js/lib/languages/go'
import ini from 'highlight.js/lib/languages/ini'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import lua from 'highlight.js/lib/languages/lua'
import nginx from 'highlight.js/lib/languages/nginx'
import python from 'highlight.js/lib/languages/python'
import ruby from 'highlight.js/lib/languages/ruby'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'

const LANGUAGES = {
  bash,
  go,
  ini,
  javascript,
  json,
  lua,
  nginx,
  python,
  ruby,
  typescript,
  xml,
  yaml,
}

for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language)
hljs.configure({ classPrefix: 'hl-' })

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

/** @returns HTML of code: spans with classes `hl-…`, which docs.css colours; plain if the language is not known */
function highlight(code: string, language: string): string {
  if (hljs.getLanguage(language) === undefined) return escapeCode(code)
  return hljs.highlight(code, { language, ignoreIllegals: true }).value
}

function escapeCode(code: string): string {
  return code
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
