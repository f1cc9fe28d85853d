import { digested, json, threeComponents, withBase } from './requests.ts'
import { AGENT, type Key, keys, NOW, paramsOf, received, type Signing, signing } from './signing.ts'

// Signatures by keys of directories: `profile` and `maxLifetimeSeconds` are the rules that the verifier has for their place.

const { bot } = keys
const DAY = 86_400
const WBA = { key: 'bot', profile: 'wba', maxLifetimeSeconds: DAY } as const
const STRICT = { ...WBA, profile: 'strict' } as const

const params = (nonce: string | null, lifetime = 60, created = NOW, key: Key = bot) => {
  const text = paramsOf(key, created, created + lifetime, nonce ?? '')
  return nonce === null ? text.replace(';nonce=""', '') : text
}
const BASE64 = `${'+/'.repeat(43)}==`
const hostOf = (key: Key) =>
  [
    ['"@authority"', 'shop.example'],
    [AGENT, `"${key.signatureAgent}"`],
  ] as const
/** What most bots sign. */
const minimal = (params: string, change: Signing = {}) =>
  signing({ key: bot, components: hostOf(bot), params, ...change })
/** Everything that agents sign. */
const full = (params: string, change: Signing = {}) => signing({ key: bot, params, ...change })
const posted = (params: string) =>
  full(params, { method: 'POST', fields: [digested('{"item":1}'), json] })
const typed = (member: string, change: Signing = {}) =>
  minimal(params(BASE64), {
    agent: `sig1=${member}`,
    components: [
      ['"@authority"', 'shop.example'],
      [AGENT, member],
    ],
    ...change,
  })

/** Verified by the rules for the directory. */
export const DIRECTORY_VALID = [
  { name: 'wba: the host alone', ...WBA, ...withBase(minimal(params(BASE64))), digest: 'none' },
  {
    name: 'wba: without a nonce',
    ...WBA,
    replay: 'unchecked',
    ...withBase(minimal(params(null))),
    digest: 'none',
  },
  {
    name: 'wba: a nonce of one character',
    ...WBA,
    ...withBase(minimal(params('A'))),
    digest: 'none',
  },
  {
    name: 'wba: a long nonce in base64url',
    ...WBA,
    ...withBase(minimal(params('_'.repeat(1024)))),
    digest: 'none',
  },
  {
    name: 'wba: method and path too, without a nonce',
    ...WBA,
    replay: 'unchecked',
    ...withBase(full(params(null))),
    digest: 'none',
  },
  {
    name: 'wba: method and path too, with a nonce in base64',
    ...WBA,
    ...withBase(full(params(BASE64))),
    digest: 'none',
  },
  {
    name: 'wba: @query without a query',
    ...WBA,
    ...withBase(
      minimal(params(BASE64), {
        components: [...threeComponents(), ['"@query"', '?'], hostOf(bot)[1]],
      }),
    ),
    digest: 'none',
  },
  {
    name: 'wba: a POST that covers everything, with a nonce in base64',
    ...WBA,
    request: received(posted(params(BASE64)), { body: '{"item":1}' }),
    base: posted(params(BASE64)).base,
    digest: 'checked',
  },
  {
    name: 'wba: valid for a day',
    ...WBA,
    ...withBase(minimal(params(BASE64, DAY))),
    digest: 'none',
  },
  {
    name: 'wba: 300 seconds old',
    ...WBA,
    ...withBase(minimal(params(BASE64, DAY, NOW - 300))),
    digest: 'none',
  },
  {
    name: 'wba: 301 seconds old',
    ...WBA,
    replay: 'unchecked',
    ...withBase(minimal(params(BASE64, DAY, NOW - 301))),
    digest: 'none',
  },
  {
    name: 'strict: valid for a day',
    ...STRICT,
    ...withBase(full(params('B'.repeat(22), DAY))),
    digest: 'none',
  },
  {
    name: 'type=directory, and a parameter that is not known',
    ...WBA,
    ...withBase(typed(`"${bot.signatureAgent}";type=directory;url="https://evil.example"`)),
    digest: 'none',
  },
  {
    name: 'type=cimd',
    ...WBA,
    key: 'card',
    ...withBase(
      typed(`"${keys.card.signatureAgent}";type=cimd`, {
        key: keys.card,
        params: params(BASE64, 60, NOW, keys.card),
      }),
    ),
    digest: 'none',
  },
]

/** Refused by the rules for the directory, or for agents. */
export const DIRECTORY_INVALID = [
  {
    name: 'wba: the same request again',
    why: 'its nonce was used',
    reason: 'replay',
    ...WBA,
    after: ['wba: the host alone'],
    request: received(minimal(params(BASE64))),
  },
  {
    name: 'wba: a nonce that is not base64',
    why: 'base64 is needed',
    reason: 'nonce',
    ...WBA,
    request: received(minimal(params('a nonce'))),
  },
  {
    name: 'wba: a POST without a nonce',
    why: 'somebody else could send it again',
    reason: 'nonce',
    ...WBA,
    request: received(posted(params(null)), { body: '{"item":1}' }),
  },
  {
    name: 'wba: a POST that is 301 seconds old',
    why: 'nobody knows whether it was sent before',
    reason: 'replay-unchecked',
    ...WBA,
    request: received(posted(params(BASE64, DAY, NOW - 301)), { body: '{"item":1}' }),
  },
  {
    name: 'wba: valid for more than a day',
    why: 'the directory may have a day',
    reason: 'lifetime',
    ...WBA,
    request: received(minimal(params(BASE64, DAY + 1))),
  },
  {
    name: 'wba: valid for longer than the policy says',
    why: 'the directory may have 600 seconds',
    reason: 'lifetime',
    ...WBA,
    maxLifetimeSeconds: 600,
    request: received(minimal(params(BASE64, 601))),
  },
  {
    name: 'strict: no nonce',
    why: 'it is needed',
    reason: 'nonce',
    ...STRICT,
    request: received(full(params(null))),
  },
  {
    name: 'strict: the host alone',
    why: 'everything is needed',
    reason: 'components',
    ...STRICT,
    request: received(minimal(params('B'.repeat(22)))),
  },
  {
    name: 'a stranger with the lifetime of a directory',
    why: 'nobody has listed its place',
    reason: 'lifetime',
    request: received(full(params('B'.repeat(22), 3_600))),
  },
  {
    name: 'an agent with the lifetime of a directory',
    why: 'its key is that of an agent, whatever the rules for its place say',
    reason: 'lifetime',
    ...WBA,
    request: received(signing({ params: params('B'.repeat(22), 301, NOW, keys.agent) })),
  },
  {
    name: 'an agent without a nonce at a place with the profile wba',
    why: 'its key is that of an agent, whatever the rules for its place say',
    reason: 'nonce',
    ...WBA,
    request: received(signing({ params: params(null, 60, NOW, keys.agent) })),
  },
  {
    name: 'an unknown type of Signature-Agent',
    why: 'such a member is ignored, so nobody is named',
    reason: 'untrusted-agent',
    ...WBA,
    request: received(typed(`"${bot.signatureAgent}";type=card`)),
  },
  {
    name: 'the type of Signature-Agent is a string',
    why: 'a token belongs there',
    reason: 'untrusted-agent',
    ...WBA,
    request: received(typed(`"${bot.signatureAgent}";type="directory"`)),
  },
  {
    name: 'type=directory with a path',
    why: 'a directory is named by its origin',
    reason: 'untrusted-agent',
    ...WBA,
    request: received(typed(`"${keys.card.signatureAgent}";type=directory`)),
  },
  {
    name: 'two types in Signature-Agent',
    why: 'two readers could see different ones',
    reason: 'malformed',
    ...WBA,
    request: received(typed(`"${bot.signatureAgent}";type=directory;type=cimd`)),
  },
]
