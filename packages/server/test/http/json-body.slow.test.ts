import { test } from 'node:test'
import { assertClaimsRefused, type BadPost } from '../../../../test/support/refused-posts.ts'

const MALFORMED = { status: 400, code: 'VALIDATION_ERROR' } as const

/** Makes a bad body of the JSON of a valid one. */
type Rewrite = (json: string) => string | Uint8Array

function bytes(text: string): Uint8Array {
  return Buffer.from(text, 'latin1')
}

/** Bodies that are not UTF-8. Each good body is ASCII, so that its Latin-1 bytes are its UTF-8 bytes. */
const NOT_UTF8: Readonly<Record<string, Rewrite>> = {
  'a byte that UTF-8 does not have': (json) => bytes(json.replace('{', '{"x":"\xff",')),
  'Latin-1': (json) => bytes(json.replace('{', '{"x":"\xe9",')),
  'a sequence that breaks off': (json) => bytes(json.replace('{', '{"x":"\xe2\x82",')),
  'an overlong slash': (json) => bytes(json.replace('{', '{"x":"\xc0\xaf",')),
  'an overlong NUL': (json) => bytes(json.replace('{', '{"x":"\xc0\x80",')),
  'a surrogate in UTF-8': (json) => bytes(json.replace('{', '{"x":"\xed\xa0\x80",')),
  'beyond U+10FFFF': (json) => bytes(json.replace('{', '{"x":"\xf4\x90\x80\x80",')),
  'a bad byte within a key of the object': (json) =>
    bytes(json.replace('publicKey', 'publicKey\xff')),
  'a bad byte after the JSON': (json) => bytes(`${json}\xff`),
  'UTF-16': (json) => Buffer.from(json, 'utf16le'),
  'UTF-16 with a byte order mark': (json) => Buffer.from(`\ufeff${json}`, 'utf16le'),
}

/** Bodies that are not JSON. */
const NOT_JSON: Readonly<Record<string, Rewrite>> = {
  nothing: () => '',
  'white space': () => ' \n',
  'a byte order mark before it': (json) => `\ufeff${json}`,
  'two byte order marks before it': (json) => `\ufeff\ufeff${json}`,
  'a byte order mark after it': (json) => `${json}\ufeff`,
  'a no-break space before it': (json) => `\u00a0${json}`,
  'two JSON texts': (json) => json + json,
  'something after it': (json) => `${json}x`,
  'a NUL after it': (json) => `${json}\0`,
  'a NUL before it': (json) => `\0${json}`,
  'broken off': (json) => json.slice(0, -1),
  'a trailing comma': (json) => json.replace(/}$/, ',}'),
  'a comment': (json) => json.replace('{', '{/* */'),
  'single quotes': (json) => json.replaceAll('"', "'"),
  'keys without quotes': (json) => json.replace(/"(\w+)":/g, '$1:'),
  NaN: () => '{"agentId":NaN}',
  undefined: () => 'undefined',
  'a newline within a text': (json) => json.replace('"publicKey"', '"public\nKey"'),
  'a NUL within a text': (json) => json.replace('"publicKey"', '"publicKey\0"'),
  'an escape that JSON does not have': (json) => json.replace('"publicKey"', '"\\x70ublicKey"'),
  'a form': () => 'claimToken=x&agentId=y',
  'an XML text': () => '<claim/>',
}

/** JSON that two parsers could read differently. */
const AMBIGUOUS: Readonly<Record<string, Rewrite>> = {
  'a key twice, with the same value': (json) => doubled(json, (member) => member),
  'a key twice, the good one last': (json) => json.replace('{', '{"publicKey":"",'),
  'a key twice, the good one first': (json) => json.replace(/}$/, ',"publicKey":""}'),
  'a key thrice': (json) => json.replace('{', '{"signature":1,"signature":2,'),
  'a key twice, once in escapes': (json) =>
    doubled(json, (member) => member.replace('publicKey', '\\u0070ublicKey')),
  'a key twice, white space around the colon': (json) =>
    doubled(json, (member) => member.replace(':', ' \n\t: ')),
  'a key twice in an object within': (json) => json.replace('{', '{"x":{"y":1,"y":2},'),
  'a key twice in an array within': (json) => json.replace('{', '{"x":[[{"y":1,"y":2}]],'),
  'an empty key twice': (json) => json.replace('{', '{"":1,"":2,'),
  'a key twice beside texts with colons and quotes': (json) =>
    json.replace('{', '{"a\\":b":"\\\\","a\\":b":":",'),
}

/** JSON that reaches for the prototype of objects. */
const PROTOTYPE: Readonly<Record<string, Rewrite>> = {
  '__proto__ with an object': (json) => json.replace('{', '{"__proto__":{"admin":true},'),
  '__proto__ with null': (json) => json.replace('{', '{"__proto__":null,'),
  '__proto__ with the fields of the body': (json) => `{"__proto__":${json}}`,
  '__proto__ in escapes': (json) => json.replace('{', '{"\\u005f_proto__":{"admin":true},'),
  '__proto__ twice': (json) => json.replace('{', '{"__proto__":{},"__proto__":{},'),
  '__proto__ within': (json) => json.replace('{', '{"x":[{"__proto__":{"admin":true}}],'),
  'constructor.prototype': (json) =>
    json.replace('{', '{"constructor":{"prototype":{"admin":true}},'),
}

function doubled(json: string, change: (member: string) => string): string {
  const member = /"publicKey":"[^"]*"/.exec(json)?.[0] as string
  return json.replace('{', `{${change(member)},`)
}

function casesOf(rewrites: Readonly<Record<string, Rewrite>>, message: RegExp): BadPost<object>[] {
  return Object.entries(rewrites).map(([name, of]) => ({
    name,
    change: (good) => of(JSON.stringify(good)),
    message,
    ...MALFORMED,
  }))
}

const SUITES = [
  ['is not UTF-8', casesOf(NOT_UTF8, /UTF-8|not JSON/)],
  ['is not JSON', casesOf(NOT_JSON, /not JSON|byte order mark/)],
  ['can be read in two ways', casesOf(AMBIGUOUS, /duplicate key/)],
  ['reaches for the prototype of objects', casesOf(PROTOTYPE, /not JSON|an unknown field/)],
] as const

for (const [what, cases] of SUITES) {
  test(`a claim whose body ${what} is refused and burns no token`, async (t) => {
    await assertClaimsRefused(t, cases)
  })
}
