import { keys } from './signing.ts'

/** Where these vectors were published; the drafts have those with Signature-Agent too. */
export const SOURCE =
  'github.com/cloudflare/web-bot-auth, packages/web-bot-auth/test/test_data (web_bot_auth_architecture_v1.json, _v2.json, web_bot_auth_signature_agent_v1.json) of 2026-08-15; draft-meunier-webbotauth-httpsig-protocol-02, Test Vectors. Those for RSA use an algorithm that is not accepted here.'

const CREATED = 1_735_689_600
const HOUR = CREATED + 3_600
const CENTURY = 4_889_289_600

function published(
  covered: string,
  {
    expires,
    nonce,
    signature,
  }: Readonly<Record<'expires' | 'nonce' | 'signature', string | number>>,
  agent: string | null,
) {
  const input = `${covered};created=${CREATED};keyid="${keys.rfc9421.keyid}";alg="ed25519";expires=${expires};nonce="${nonce}";tag="web-bot-auth"`
  return {
    published: true,
    key: 'rfc9421',
    profile: 'wba',
    maxLifetimeSeconds: 86_400,
    now: (CREATED + 1) * 1000,
    audiences: ['https://example.com'],
    allowTestKeys: true,
    input,
    request: {
      method: 'GET',
      scheme: 'https',
      authority: 'example.com',
      target: '/path/to/resource',
      headers: [
        ...(agent === null ? [] : [['Signature-Agent', agent]]),
        ['Signature-Input', `sig=${input}`],
        ['Signature', `sig=:${signature}:`],
      ],
      body: null,
    },
  }
}

const legacy = published(
  '("@authority" "signature-agent")',
  {
    expires: HOUR,
    nonce:
      'e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg==',
    signature:
      'jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==',
  },
  '"https://signature-agent.test"',
)
const current = published(
  '("@authority" "signature-agent";key="agent2")',
  {
    expires: CENTURY,
    nonce:
      'n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==',
    signature:
      'RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==',
  },
  'agent2="https://signature-agent.test"',
)
/** Without Signature-Agent, which drafts required only from 2026 on. */
const unnamed = (expires: number, nonce: string, signature: string) =>
  published('("@authority")', { expires, nonce, signature }, null)

const withoutInput = ({ input: _, ...rest }: ReturnType<typeof published>) => rest

export const PUBLISHED_VALID = [
  {
    name: 'web-bot-auth: Ed25519, Signature-Agent as a string, valid for an hour',
    ...withoutInput(legacy),
    base: `"@authority": example.com\n"signature-agent": "https://signature-agent.test"\n"@signature-params": ${legacy.input}`,
    digest: 'none',
  },
  {
    name: 'web-bot-auth: Ed25519, Signature-Agent as a dictionary, by a policy that allows a century',
    ...withoutInput(current),
    maxLifetimeSeconds: CENTURY,
    base: `"@authority": example.com\n"signature-agent";key="agent2": "https://signature-agent.test"\n"@signature-params": ${current.input}`,
    digest: 'none',
  },
]

export const PUBLISHED_INVALID = [
  {
    name: 'web-bot-auth: Ed25519, Signature-Agent as a dictionary',
    why: 'it is valid for a century, the directory may have a day',
    reason: 'lifetime',
    ...withoutInput(current),
  },
  {
    name: 'web-bot-auth: Ed25519 without Signature-Agent, valid for an hour',
    why: 'nobody says whose key it is',
    reason: 'malformed',
    ...withoutInput(
      unnamed(
        HOUR,
        'mYotfW3CUjI68sbGw6oKd7kyXqPjZEtU8xFPGWFrqOAf5qC6MDe3pys3SWWCudB0MvwslHy32WXUpkR7u0lt/w==',
        '+NA/cssf4Y2bQTMTkyvTGRCaVzp9quyUevdwwMtMOWhhOOZ2T1subBj0BtvdnrpDEuwSAbiTeElXDzHL3WWKCw==',
      ),
    ),
  },
  {
    name: 'web-bot-auth: Ed25519 without Signature-Agent',
    why: 'nobody says whose key it is',
    reason: 'malformed',
    ...withoutInput(
      unnamed(
        CENTURY,
        'zIW8+cdmA3vdYagbxojpONwa/l0EKJ/O3/wD486VvsQjO/RxPaSt6ZxvQaMcQzNnqKN/mQ6hpGiFro2L2qkz5A==',
        'QKN4fTdIYfh82fvoZCQiQA1weuozfCS/Led2zTMbewMMqH8PI2Wsy/5c4ao6B6D09nraNQdBNOADg8aM1MqfCg==',
      ),
    ),
  },
]

const AGENT = 'https://signature-agent.test'

/** Members of Signature-Agent, each under the key `sig1`. The first three are published. */
export const SIGNATURE_AGENTS = {
  valid: [
    { name: 'directory-default', field: `sig1="${AGENT}"`, type: 'directory', url: AGENT },
    {
      name: 'jwks-uri',
      field: `sig1="${AGENT}/jwks.json";type=jwks_uri`,
      type: 'jwks_uri',
      url: `${AGENT}/jwks.json`,
    },
    { name: 'cimd', field: `sig1="${AGENT}/card";type=cimd`, type: 'cimd', url: `${AGENT}/card` },
    {
      name: 'type=directory',
      field: `sig1="${AGENT}/";type=directory`,
      type: 'directory',
      url: `${AGENT}/`,
    },
    {
      name: 'parameters that are not known',
      field: `sig1="${AGENT}/card";url="https://evil.example";type=cimd;a`,
      type: 'cimd',
      url: `${AGENT}/card`,
    },
    {
      name: 'a member of another type next to it',
      field: `other="https://evil.example";type=card, sig1="${AGENT}"`,
      type: 'directory',
      url: AGENT,
    },
  ],
  ignored: [
    { name: 'an unknown type', field: `sig1="${AGENT}";type=card` },
    { name: 'a type that is a string', field: `sig1="${AGENT}/card";type="cimd"` },
    { name: 'a type without a value', field: `sig1="${AGENT}";type` },
    { name: 'a directory with a path', field: `sig1="${AGENT}/jwks.json";type=directory` },
  ],
  invalid: [
    {
      name: 'two types',
      why: 'another reader could take the first',
      field: `sig1="${AGENT}";type=directory;type=cimd`,
    },
    {
      name: 'two members of the key',
      why: 'another reader could take the first',
      field: `sig1="${AGENT}", sig1="${AGENT}/card";type=cimd`,
    },
    {
      name: 'over plain http',
      why: 'anyone on the way could replace the keys',
      field: 'sig1="http://signature-agent.test/card";type=cimd',
    },
    ...['a!b', 'a~b', "a'b", 'a$b', 'a`b', 'a{b', 'a;b', '[fe80::1%25eth0]', '[fe80::1%eth0]'].map(
      (host) => ({
        name: `the host ${host}`,
        why: 'no host name: readers of addresses differ in it',
        field: `sig1="https://${host}"`,
      }),
    ),
    { name: 'a token', why: 'an address is a string', field: 'sig1=card;type=cimd' },
    {
      name: 'several addresses',
      why: 'a member has one address',
      field: `sig1=("${AGENT}" "https://evil.example")`,
    },
  ],
}
