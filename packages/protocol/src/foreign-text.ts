/** Which other signed text a challenge could be. */
export type ForeignText =
  | 'claim'
  | 'token'
  | 'request'
  | 'key-operation'
  | 'own'
  | 'ssh'
  | 'dsse'
  | 'control'

/** A text that must not be signed as a challenge: what it could be, and why in a sentence for people. */
export interface ForeignTextFound {
  readonly kind: ForeignText
  readonly message: string
}

interface Rule extends ForeignTextFound {
  readonly matches: (text: string) => boolean
}

/**
 * A signer that answers any challenge signs for every protocol whose signed bytes can be chosen as a challenge. Short names
 * are those of any deployment, because an agent can use one key at several; in any case, because others may be laxer.
 */
const RULES: readonly Rule[] = [
  {
    kind: 'claim',
    matches: pattern(/^[a-z][a-z0-9]{0,15}-verify-[0-9a-f]{32}\|/i),
    message:
      'This is not a challenge but a claim: a signature on it would give the key to the owner who issued the token.',
  },
  {
    kind: 'token',
    matches: hasTokenHeader,
    message:
      'This is not a challenge: the part before its first dot decodes to the header of a JWS (RFC 7515), and a signature could make it a valid token. Another random challenge will do.',
  },
  {
    // RFC 9421 section 2.5: every signature base ends in this line.
    kind: 'request',
    matches: pattern(/"@signature-params":/),
    message:
      'This is not a challenge but a signature base (RFC 9421): a signature on it would sign an HTTP request.',
  },
  {
    kind: 'key-operation',
    matches: pattern(/^[^\x21-\x7e]*[a-z][a-z0-9]{0,15}-(?:rotate|recover)-/i),
    message:
      'This is not a challenge but an operation on a key: a signature on it could replace the key of an agent.',
  },
  {
    // Everything that agents of any deployment sign has such a first line, also what later releases add.
    kind: 'own',
    matches: pattern(
      /^[^\x21-\x7e]*[a-z][a-z0-9]{0,15}(?:-[a-z]{1,16}){1,8}-v\d{1,9}[^\x21-\x7e\n]*(?:\n|$)/i,
    ),
    message:
      'This is not a challenge but an operation of an identity service: a signature on it could end or change a certificate.',
  },
  {
    kind: 'ssh',
    matches: (text) => text.startsWith('SSHSIG'),
    message: 'This is not a challenge but the signed bytes of an SSH signature.',
  },
  {
    kind: 'dsse',
    matches: (text) => text.startsWith('DSSEv1 '),
    message: 'This is not a challenge but the signed bytes of a DSSE envelope.',
  },
]

/** Line ends and length bytes of SSH, TLS 1.3, Git and signed notes. */
const CONTROL: Rule = {
  kind: 'control',
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
  matches: pattern(/[\x00-\x1f\x7f]/),
  message:
    'This challenge has control characters, such as line ends, so it could be a signed message of another protocol.',
}

/**
 * Whether a challenge could be signed bytes of another purpose: a claim (contract 4.4), a JWS signing input (RFC 7515), a
 * signature base (RFC 9421), an operation of a service like this one, an SSH signature or a DSSE envelope. Verifiers must not
 * accept such a text; signers use `unsignableTextIn`.
 * @returns null if it can be a challenge
 */
export function foreignTextIn(challenge: string): ForeignTextFound | null {
  return firstOf(RULES, challenge)
}

/**
 * Whether a signer must refuse a challenge: every text of `foreignTextIn`, and any control character. Verifiers accept those,
 * because the contract lets callers choose the challenge.
 * @returns null if it can be signed
 */
export function unsignableTextIn(challenge: string): ForeignTextFound | null {
  return foreignTextIn(challenge) ?? firstOf([CONTROL], challenge)
}

function firstOf(rules: readonly Rule[], text: string): ForeignTextFound | null {
  const found = rules.find(({ matches }) => matches(text))
  return found === undefined ? null : { kind: found.kind, message: found.message }
}

function pattern(expression: RegExp): (text: string) => boolean {
  return (text) => expression.test(text)
}

/** What a JSON object begins with, in UTF-8, UTF-16 or UTF-32, with or without a byte order mark. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: U+0000 is half of a character in UTF-16
const JSON_OBJECT = /^[\x00\t-\r \xef\xbb\xbf\xfe\xff]*\{[\x00\t-\r ]*(?:"|\}[\x00\t-\r ]*$)/
/** What laxer parsers read as one, with comments, other quotation marks or none. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const LAX_OBJECT = /^[\x00\t-\r \xef\xbb\xbf\xfe\xff]*\{.*:/s

/**
 * Whether a text could be a JWS signing input. It decodes as the laxest verifiers do: Python's `urlsafe_b64decode` skips every
 * character that is not of base64. With all header parameters unprotected, the header is empty (RFC 7515 section 5.1).
 */
function hasTokenHeader(text: string): boolean {
  const dot = text.indexOf('.')
  if (dot <= 0) return dot === 0
  const head = text.slice(0, dot).replaceAll(/[\s\ufeff=]/g, '')
  const letters = head.replaceAll(/[^A-Za-z0-9+/_-]/g, '')
  const whole = letters.length % 4 === 1 ? letters.slice(0, -1) : letters
  const bytes = atob(whole.replaceAll('-', '+').replaceAll('_', '/'))
  // Prose and bound challenges have other characters: for them, `{` and a colon somewhere prove nothing.
  return JSON_OBJECT.test(bytes) || (letters === head && LAX_OBJECT.test(bytes))
}
