import { EC256, EC384, EC521, otherSignature, STRANGER } from './keys.ts'
import { hashOf, nested, type TokenParts, token } from './make-token.ts'
import { audienceOf, NOW, PAYLOADS, RULES, type RuleName, THUMBPRINT } from './platforms.ts'

interface ValidParts extends TokenParts {
  readonly agentId?: string
  readonly isBound?: boolean
  readonly expiresAt?: number
  /** Unix seconds. */
  readonly now?: number
}

function valid(name: string, rule: RuleName, claims: object = {}, parts: ValidParts = {}) {
  const text = token(rule, claims, parts)
  const { exp } = { ...PAYLOADS[rule], ...claims } as { exp: number }
  const { now, agentId = RULES[rule].agentId, isBound = RULES[rule].binding === 'key' } = parts
  const at = now === undefined ? {} : { now: now * 1000 }
  const result = { agentId, isBound, expiresAt: exp * 1000, tokenHash: hashOf(text) }
  return { name, rule, ...at, token: text, ...result }
}

export const validTokens = [
  valid('a pod', 'kubernetes'),
  valid(
    'a pod whose token names its key too',
    'kubernetes',
    {
      aud: [`${audienceOf('kubernetes')}/${THUMBPRINT}`],
    },
    { isBound: true },
  ),
  valid('one second before it expires', 'kubernetes', {}, { now: NOW + 3599 }),
  valid('a clock that is a minute behind', 'kubernetes', {}, { now: NOW - 60 }),
  valid('members that no check is about, and a header of its platform', 'github'),
  valid('a job of GitHub that another workflow began', 'githubRuns', {
    event_name: 'workflow_run',
    aud: `${audienceOf('githubRuns')}/${THUMBPRINT}`,
    ...without('github', 'aud', 'event_name'),
  }),
  valid('a job of GitLab', 'gitlab'),
  valid('a machine of Google Cloud', 'google', {}, { agentId: 'crawler-1' }),
  valid(
    'a JWT-SVID without iss and iat',
    'spiffe',
    {},
    {
      agentId: 'spiffe://example.org/crawler',
    },
  ),
  valid(
    'a JWT-SVID with both, of type JOSE',
    'spiffe',
    {
      iss: 'https://spire.example.org',
      iat: NOW,
      sub: 'spiffe://example.org/reader',
    },
    { header: { typ: 'JOSE' }, agentId: 'spiffe://example.org/reader' },
  ),
  valid(
    'n - s for s: the same token',
    'spiffe',
    {},
    {
      agentId: 'spiffe://example.org/crawler',
      changed: otherSignature,
    },
  ),
  valid('a string, a boolean, one of a list, and a pointer with escapes', 'types'),
  valid('a label from a claim', 'label', {}, { agentId: 'Crawler 1' }),
  valid(
    'a label of 128 characters outside the BMP',
    'label',
    {
      labels: { agent: '\u{1f577}'.repeat(128) },
    },
    { agentId: '\u{1f577}'.repeat(128) },
  ),
  ...(['RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const).map((alg) =>
    valid(alg, 'keys', { jti: alg }, { header: { alg } }),
  ),
  valid('ES256', 'keys', {}, { header: { alg: 'ES256', kid: 'p256' }, key: EC256 }),
  valid('ES384', 'keys', {}, { header: { alg: 'ES384', kid: 'p384' }, key: EC384 }),
  valid('ES512', 'keys', {}, { header: { alg: 'ES512', kid: 'p521' }, key: EC521 }),
  valid('a key for one algorithm', 'keys', { jti: 'ps' }, { header: { alg: 'PS256', kid: 'ps' } }),
  valid(
    'the first of two keys with one name',
    'keys',
    { jti: '1' },
    {
      header: { kid: 'twice' },
      key: STRANGER,
    },
  ),
  valid(
    'the second of two keys with one name',
    'keys',
    { jti: '2' },
    {
      header: { kid: 'twice' },
    },
  ),
  valid('a payload of 8 levels', 'label', { more: nested(7) }, { agentId: 'Crawler 1' }),
]

/** The payload of a platform without some members, and `undefined` for none of them. */
function without(name: RuleName, ...members: string[]): object {
  const entries = Object.entries(PAYLOADS[name]).filter(([member]) => !members.includes(member))
  return Object.fromEntries(entries)
}
