import { EntryFault } from './request-form.ts'

/** What a curl command sends. */
export interface CurlRequest {
  readonly method: string
  readonly url: string
  readonly headers: [string, string][]
  /** Null: none. */
  readonly body: string | null
}

/** Options without an argument that change nothing of what is sent, or only how the connection is made. */
const FLAGS = new Set(
  '-s -S -v -i -k -L -f -g -N -# -0 -4 -6 --silent --show-error --verbose --include --insecure --location --fail --globoff --no-buffer --compressed --http1.0 --http1.1 --http2 --http3 --path-as-is --fail-with-body --progress-bar --ipv4 --ipv6 --no-progress-meter'.split(
    ' ',
  ),
)
/** Options with an argument of which the same is true. */
const IGNORED = new Set(
  '-o -w -m -x -D -K -c --output --write-out --max-time --connect-timeout --proxy --dump-header --retry --resolve --connect-to --cacert --cookie-jar --interface --max-redirs'.split(
    ' ',
  ),
)

/** What the options so far say. */
interface Draft {
  method: string | null
  url: string | null
  readonly headers: [string, string][]
  readonly data: string[]
  /** The media type of the data, unless a header says another one. */
  type: string
}

type Option = (draft: Draft, argument: string) => void

const method: Option = (draft, argument) => {
  draft.method = argument
}
const url: Option = (draft, argument) => {
  draft.url = argument
}
const header: Option = ({ headers }, argument) => headers.push(...headerOf(argument))
const named =
  (name: string): Option =>
  ({ headers }, value) =>
    headers.push([name, value])
const user: Option = ({ headers }, argument) =>
  headers.push(['Authorization', `Basic ${Buffer.from(argument).toString('base64')}`])
const rawData: Option = ({ data }, argument) => data.push(argument)
const dataOrFile: Option = ({ data }, argument) => {
  if (argument.startsWith('@')) {
    throw new EntryFault('request', 'The body is in a file. Paste the raw request, with its body.')
  }
  data.push(argument)
}
const json: Option = (draft, argument) => {
  dataOrFile(draft, argument)
  draft.type = 'application/json'
}

const OPTIONS: Readonly<Record<string, Option>> = {
  '-X': method,
  '--request': method,
  '--url': url,
  '-H': header,
  '--header': header,
  '-A': named('User-Agent'),
  '--user-agent': named('User-Agent'),
  '-e': named('Referer'),
  '--referer': named('Referer'),
  '-b': named('Cookie'),
  '--cookie': named('Cookie'),
  '-u': user,
  '--user': user,
  '-d': dataOrFile,
  '--data': dataOrFile,
  '--data-ascii': dataOrFile,
  '--data-binary': dataOrFile,
  '--data-raw': rawData,
  '--json': json,
}

/**
 * Reads a curl command, as a shell would split it into words. Later commands of the same line are ignored.
 * @throws EntryFault for an option that is not known, and for content that is in a file
 */
export function parseCurl(text: string): CurlRequest {
  const words = shellWords(text)
  const draft: Draft = { method: null, url: null, headers: [], data: [], type: FORM }
  for (let at = words[0] === '$' ? 2 : 1; at < words.length; at += 1) {
    const word = words[at] as string
    const [name, joined] = optionOf(word)
    if (name === null) draft.url = word
    else if (name === '-I' || name === '--head') draft.method ??= 'HEAD'
    else if (!FLAGS.has(name)) {
      if (joined === null) at += 1
      optionNamed(name)(draft, joined ?? words[at] ?? '')
    }
  }
  const { headers, data, type } = draft
  if (draft.url === null) throw new EntryFault('request', 'The curl command has no URL.')
  const hasType = headers.some(([name]) => name.toLowerCase() === 'content-type')
  if (data.length > 0 && !hasType) headers.push(['Content-Type', type])
  const body = data.length === 0 ? null : data.join('&')
  const address = /^https?:\/\//i.test(draft.url) ? draft.url : `http://${draft.url}`
  return {
    method: draft.method ?? (body === null ? 'GET' : 'POST'),
    url: address,
    headers,
    body,
  }
}

const FORM = 'application/x-www-form-urlencoded'

/** @throws EntryFault */
function optionNamed(name: string): Option {
  if (IGNORED.has(name)) return () => undefined
  const option = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined
  if (option !== undefined) return option
  throw new EntryFault(
    'request',
    `The option ${name} of curl is not known here. Paste the raw request instead.`,
  )
}

/** @returns the option, or null for a URL, and the argument that is written together with it, as in `-XPOST` */
function optionOf(word: string): [name: string | null, joined: string | null] {
  if (!word.startsWith('-') || word === '-') return [null, null]
  if (word.startsWith('--') || word.length === 2) return [word, null]
  const name = word.slice(0, 2)
  // `-sS`: flags that are written together.
  const areFlags = [...word.slice(1)].every((each) => FLAGS.has(`-${each}`))
  return areFlags ? [name, null] : [name, word.slice(2)]
}

/** `Name;` sends an empty header, and `Name:` none. */
function headerOf(argument: string): [string, string][] {
  if (argument.startsWith('@')) {
    throw new EntryFault('request', 'Headers are in a file. Paste the headers instead.')
  }
  const colon = argument.indexOf(':')
  if (colon < 0) return [[argument.replace(/;$/, ''), '']]
  const value = argument.slice(colon + 1).trim()
  return value === '' ? [] : [[argument.slice(0, colon), value]]
}

/** What ends a word in no quotes, or is written otherwise. */
const END_OF_COMMAND = new Set(['\n', ';', '|', '&', '>', '<'])
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

/** The words of the first command of a shell script: single and double quotes, `$'…'`, backslashes. Nothing is expanded. */
function shellWords(text: string): string[] {
  const words: string[] = []
  let word: string | null = null
  let at = 0
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0] ?? ''
    at += found.length
    return found
  }
  while (at < text.length) {
    const character = text[at] as string
    if (character === "'") {
      word = (word ?? '') + take(/'[^']*'?/y).replaceAll("'", '')
    } else if (character === '$' && text[at + 1] === "'") {
      word = (word ?? '') + ansiC(take(/\$'(?:[^'\\]|\\[\s\S])*'?/y).replace(/^\$'|'$/g, ''))
    } else if (character === '"') {
      const quoted = take(/"(?:[^"\\]|\\[\s\S])*"?/y).replace(/^"|"$/g, '')
      word = (word ?? '') + quoted.replace(/\\([$`"\\])|\\\n/g, '$1')
    } else if (character === '\\') {
      const escaped = take(/\\(?:\r?\n|[\s\S])?/y)
      if (!/[\r\n]/.test(escaped)) word = (word ?? '') + escaped.slice(1)
    } else if (END_OF_COMMAND.has(character)) {
      break
    } else if (/\s/.test(character)) {
      take(/[^\S\n]+/y)
      if (word !== null) words.push(word)
      word = null
    } else {
      word = (word ?? '') + take(/[^\s'"\\$;|&<>]+|\$/y)
    }
  }
  return word === null ? words : [...words, word]
}

/** The escapes of `$'…'`, as "Copy as cURL" of browsers writes them. */
function ansiC(text: string): string {
  return text.replace(
    /\\(?:u([0-9A-Fa-f]{1,4})|x([0-9A-Fa-f]{1,2})|([\s\S]))/g,
    (_, unicode?: string, byte?: string, other = '') => {
      const code = unicode ?? byte
      return code === undefined
        ? (ESCAPES[other] ?? other)
        : String.fromCharCode(Number.parseInt(code, 16))
    },
  )
}
