import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import ini from 'highlight.js/lib/languages/ini'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import lua from 'highlight.js/lib/languages/lua'
import nginx from 'highlight.js/lib/languages/nginx'
import python from 'highlight.js/lib/languages/python'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import { escapeHtml } from './names.ts'

const LANGUAGES = {
  bash,
  ini,
  javascript,
  json,
  lua,
  nginx,
  python,
  typescript,
  xml,
  yaml,
}

for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language)
hljs.configure({ classPrefix: 'hl-' })

/** @returns HTML of a code block: spans with classes `hl-…`, which docs.css colours; plain if the language is not known */
export function highlight(code: string, language: string): string {
  if (hljs.getLanguage(language) === undefined) return escapeHtml(code)
  return hljs.highlight(code, { language, ignoreIllegals: true }).value
}
