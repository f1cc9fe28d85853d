import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT, tempDir } from '../../../../../test/support/service.ts'
import { loadProviders } from '../../../src/accounts/providers/load-providers.ts'
import { OIDC_PRESETS } from '../../../src/accounts/providers/oidc-presets.ts'
import { oidcSettings } from '../../../src/accounts/providers/oidc-settings.ts'
import { PROVIDER_TYPES } from '../../../src/accounts/providers/provider-file.ts'
import { ProviderSettingsError } from '../../../src/accounts/providers/settings-fields.ts'

type Test = Parameters<typeof tempDir>[0]

const SECRET = 'a-secret-that-is-nowhere-to-be-seen'
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const KEY = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string

const ENV: Readonly<Record<string, string>> = {
  LOGIN_GOV_KEY: KEY,
  ONE_LOGIN_KEY: KEY,
  WORLD_ID_KEY: `0x${'1'.repeat(64)}`,
  STRIPE_KEY: 'sk_live_1',
  STRIPE_WEBHOOK_SECRET: 'whsec_1',
  NOT_A_KEY: SECRET,
  EMPTY: '',
  ...Object.fromEntries(
    ['GOOGLE', 'GITHUB', 'IDURA', 'SIGNICAT', 'ID_ME', 'MICROSOFT', 'DIDIT', 'REGISTER'].map(
      (each) => [`${each}_SECRET`, SECRET],
    ),
  ),
}

/** Loads a file as a service at `baseUrl` would. */
function load(t: Test, text: string, baseUrl = 'https://certs.example') {
  const file = join(tempDir(t), 'providers.json')
  writeFileSync(file, text)
  return loadProviders({ file, baseUrl: new URL(baseUrl), env: ENV })
}

async function mistakesIn(t: Test, text: string, baseUrl?: string): Promise<readonly string[]> {
  try {
    await load(t, text, baseUrl)
  } catch (error) {
    assert.ok(error instanceof ProviderSettingsError, String(error))
    assert.ok(!error.message.includes(SECRET), error.message)
    return error.mistakes
  }
  return []
}

const google = {
  id: 'google',
  type: 'oidc',
  preset: 'google',
  clientId: 'abc',
  clientSecret: { env: 'GOOGLE_SECRET' },
}

test('every example in the documentation is valid', async (t) => {
  const page = readFileSync(join(ROOT, 'docs/identity-providers.md'), 'utf8')
  const examples = [...page.matchAll(/^```json\n(.*?)^```$/gms)].map((m) =>
    JSON.parse(m[1] as string),
  )
  const entries: { id: string; type: string; preset?: string; clientSecret?: object }[] =
    examples.flatMap((each) => each.providers ?? [each])
  for (const entry of entries) {
    const secret = join(tempDir(t), 'secret')
    writeFileSync(secret, SECRET)
    const text = JSON.stringify({ providers: [entry] }).replace('/run/secrets/company', secret)
    const { all } = await load(t, text)
    const ids = entry.id === 'in-person' ? ['in-person'] : [entry.id, 'in-person']
    assert.deepEqual(
      all.map(({ id }) => id),
      ids,
    )
  }
  assert.deepEqual(
    [...new Set(entries.map(({ type }) => type))].sort(),
    PROVIDER_TYPES.map(({ type }) => type).sort(),
  )
  const presets = new Set(entries.flatMap(({ preset }) => preset ?? []))
  assert.deepEqual([...presets].sort(), Object.keys(OIDC_PRESETS).sort())
})

test('the documentation lists every preset and every setting', () => {
  const page = readFileSync(join(ROOT, 'docs/identity-providers.md'), 'utf8')
  for (const preset of Object.keys(OIDC_PRESETS))
    assert.ok(page.includes(`| \`${preset}\` |`), preset)
  const { properties } = oidcSettings() as unknown as { properties: object }
  for (const name of Object.keys(properties)) {
    if (name !== 'preset') assert.match(page, new RegExp(`^\\|[^|]*\`${name}\``, 'm'), name)
  }
})

interface Mistake {
  readonly name: string
  readonly providers: readonly unknown[]
  readonly mistakes: readonly string[]
  readonly baseUrl?: string
}

const at = (index: number, id?: string) =>
  id === undefined ? `providers[${index}]` : `providers[${index}] (${id})`

const MISTAKES: readonly Mistake[] = [
  {
    name: 'an entry that is not an object',
    providers: ['google'],
    mistakes: [`${at(0)}: must be an object`],
  },
  {
    name: 'no type',
    providers: [{ id: 'x' }],
    mistakes: [
      `${at(0, 'x')}: type must be one of: oidc, github, world-id, stripe-identity, in-person`,
    ],
  },
  {
    name: 'an unknown setting',
    providers: [{ ...google, colour: SECRET }],
    mistakes: [`${at(0, 'google')}: "colour" is not a setting`],
  },
  {
    name: 'a secret in the file itself',
    providers: [{ ...google, clientSecret: SECRET }],
    mistakes: [
      `${at(0, 'google')}: clientSecret must be a reference to a secret, never the secret itself: {"env": "NAME"} or {"file": "/path"}`,
    ],
  },
  {
    name: 'a reference to both a variable and a file',
    providers: [{ ...google, clientSecret: { env: 'A', file: '/b' } }],
    mistakes: [
      `${at(0, 'google')}: clientSecret must be a reference to a secret, never the secret itself: {"env": "NAME"} or {"file": "/path"}`,
    ],
  },
  {
    name: 'a variable that is not set',
    providers: [{ ...google, clientSecret: { env: 'EMPTY' } }],
    mistakes: [`${at(0, 'google')}: the environment variable EMPTY is not set`],
  },
  {
    name: 'a missing secret file',
    providers: [{ ...google, clientSecret: { file: '/nowhere/secret' } }],
    mistakes: [`${at(0, 'google')}: the file /nowhere/secret cannot be read (ENOENT)`],
  },
  {
    name: 'a malformed id',
    providers: [{ ...google, id: 'Goo gle' }],
    mistakes: [
      `${at(0)}: id must be 1 to 32 characters out of a-z, 0-9 and -; it is part of addresses and never changes`,
    ],
  },
  {
    name: 'the same id twice',
    providers: [google, google],
    mistakes: [`${at(1, 'google')}: id is that of another provider`],
  },
  {
    name: 'no client',
    providers: [{ id: 'google', type: 'oidc', preset: 'google' }],
    mistakes: [`${at(0, 'google')}: clientId is missing`],
  },
  {
    name: 'no secret',
    providers: [{ ...google, clientSecret: undefined }],
    mistakes: [`${at(0, 'google')}: clientSecret is missing`],
  },
  {
    name: 'an unknown preset',
    providers: [{ ...google, preset: 'yahoo' }],
    mistakes: [
      `${at(0, 'google')}: preset must be one of: ${Object.keys(OIDC_PRESETS).join(', ')}`,
    ],
  },
  {
    name: 'a preset named like an inherited property',
    providers: [{ ...google, preset: 'constructor' }],
    mistakes: [
      `${at(0, 'google')}: preset must be one of: ${Object.keys(OIDC_PRESETS).join(', ')}`,
    ],
  },
  {
    name: 'a preset without its required settings',
    providers: [{ ...google, id: 'x', preset: 'idura' }],
    mistakes: [`${at(0, 'x')}: domain is missing`, `${at(0, 'x')}: acr is missing`],
  },
  {
    name: 'no preset, and required settings missing',
    providers: [{ ...google, preset: undefined }],
    mistakes: ['issuer', 'label', 'kind', 'proves', 'assurance'].map(
      (each) => `${at(0, 'google')}: ${each} is missing`,
    ),
  },
  {
    name: 'a key where a secret is needed, and the reverse',
    providers: [
      { ...google, privateKey: { env: 'NOT_A_KEY' } },
      { ...google, id: 'g2', clientAuth: 'private_key_jwt' },
    ],
    mistakes: [
      `${at(0, 'google')}: privateKey is of no use with clientAuth client_secret_post`,
      `${at(1, 'g2')}: privateKey is missing`,
      `${at(1, 'g2')}: clientSecret is of no use with clientAuth private_key_jwt`,
    ],
  },
  {
    name: 'a malformed key',
    providers: [
      {
        id: 'x',
        type: 'oidc',
        preset: 'login-gov',
        clientId: 'x',
        privateKey: { env: 'NOT_A_KEY' },
      },
    ],
    mistakes: [
      `${at(0, 'x')}: the private key is neither a private JWK nor PEM of a kind that signs`,
    ],
  },
  {
    name: 'several values of the wrong type, all reported',
    providers: [
      { ...google, signIn: 'yes', validForDays: 0, maxAge: -1, acr: [], scopes: 'openid', par: 1 },
    ],
    mistakes: [
      'signIn must be true, so that owners may sign in with it, or false',
      'validForDays must be how many days a verification counts, from 1 to 3650, or null: until it is removed',
      'maxAge must be seconds, from 0 to 86400',
      'acr must be the accepted values of acr: a list, or an object with what each value is worth (low, substantial, high)',
      'scopes must be a list of scopes; openid is always asked for',
      'par must be false, to push no requests although the provider offers it',
    ].map((each) => `${at(0, 'google')}: ${each}`),
  },
  {
    name: 'an issuer that is not https',
    providers: [{ ...google, issuer: 'http://accounts.example' }],
    mistakes: [`${at(0, 'google')}: issuer must be an https address`],
    baseUrl: 'http://localhost:8080',
  },
  {
    name: 'an issuer on loopback while the service is not',
    providers: [{ ...google, issuer: 'http://localhost:9000' }],
    mistakes: [
      `${at(0, 'google')}: issuer must be an https address, since BASE_URL is not on loopback`,
    ],
  },
  {
    name: 'the id of a development provider',
    providers: [{ ...google, id: 'dev-high' }],
    mistakes: [`${at(0, 'dev-high')}: id is that of a provider for development`],
  },
  {
    name: 'the id of verification by a domain',
    providers: [{ ...google, id: 'organisation-domain' }],
    mistakes: [`${at(0, 'organisation-domain')}: id is that of verification by a domain`],
  },
  {
    name: 'a provider for organisations that would take the person for one, or one for persons with its claim',
    providers: [
      { ...google, signIn: true, for: 'organisation' },
      { ...google, id: 'g2', subjectClaim: 'org_number' },
      { ...google, id: 'g3', for: 'company' },
    ],
    mistakes: [
      `${at(2, 'g3')}: for must be whom it verifies: person (the default) or organisation`,
      `${at(0, 'google')}: subjectClaim is missing`,
      `${at(0, 'google')}: signIn is not possible where for is organisation`,
      `${at(1, 'g2')}: subjectClaim is possible only where for is organisation`,
    ],
  },
  {
    name: 'the id in-person with another type',
    providers: [{ ...google, id: 'in-person' }],
    mistakes: [`${at(0, 'in-person')}: id can be in-person only where type is`],
  },
  {
    name: 'mistakes in several entries, all reported',
    providers: [
      { ...google, colour: 1 },
      { ...google, id: 'x', clientSecret: { env: 'EMPTY' } },
      7,
    ],
    mistakes: [
      `${at(0, 'google')}: "colour" is not a setting`,
      `${at(2)}: must be an object`,
      `${at(1, 'x')}: the environment variable EMPTY is not set`,
    ],
  },
]

for (const { name, providers, mistakes, baseUrl } of MISTAKES) {
  test(`rejected at startup: ${name}`, async (t) => {
    assert.deepEqual(await mistakesIn(t, JSON.stringify({ providers }), baseUrl), mistakes)
  })
}

test('rejected at startup: a malformed file', async (t) => {
  assert.deepEqual(await mistakesIn(t, `{"clientSecret": "${SECRET}",`), ['the file is not JSON'])
  for (const text of ['[]', 'null', '{}', '7', '{"providers": {}}', '{"providers": [], "x": 1}']) {
    assert.deepEqual(
      await mistakesIn(t, text),
      ['the file must be {"providers": [ … ]} and nothing else'],
      text,
    )
  }
})

test('http on loopback is accepted if the service is also on loopback', async (t) => {
  const entry = { ...google, issuer: 'http://127.0.0.1:9000' }
  const { all, development } = await load(
    t,
    JSON.stringify({ providers: [entry] }),
    'http://[::1]:8080',
  )
  assert.deepEqual(
    all.map(({ id }) => id),
    ['google', 'in-person'],
  )
  assert.equal(development, false)
})

for (const baseUrl of [
  'http://localhost:8080',
  'http://127.3.2.1',
  'http://[::1]:1',
  'https://localhost',
]) {
  test(`without a file there are development providers at ${baseUrl}`, async () => {
    const { all, development, close } = await loadProviders({
      file: null,
      baseUrl: new URL(baseUrl),
      env: {},
    })
    assert.equal(development, true)
    assert.deepEqual(
      all.map(({ id, kind }) => `${id} ${kind}`),
      [
        'dev-low development',
        'dev-substantial development',
        'dev-high development',
        'dev-organisation development',
        'in-person in-person',
      ],
    )
    await close()
  })
}

for (const baseUrl of [
  'https://certs.example',
  'http://localhost.example',
  'http://127.0.0.1.example',
  'http://10.0.0.1',
  'http://0.0.0.0',
  'http://[::ffff:7f00:1]',
  'http://[::]',
]) {
  test(`without a file there is only in-person at ${baseUrl}`, async () => {
    const source = { file: null, baseUrl: new URL(baseUrl), env: {} }
    const { all, development } = await loadProviders(source)
    assert.equal(development, false)
    assert.deepEqual(
      all.map(({ id }) => id),
      ['in-person'],
    )
  })
}
