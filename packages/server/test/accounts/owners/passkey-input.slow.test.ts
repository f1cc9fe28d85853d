import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isoCBOR } from '@simplewebauthn/server/helpers'
import { assertRefused, jsonOf } from '../../../../../test/support/answer.ts'
import { startTestService } from '../../../../../test/support/service.ts'
import { Visitor } from '../../../../../test/support/visitor.ts'

/** The parts of a registration that the browser reports without a signature. */
interface Said {
  response: { attestationObject: string; transports: unknown }
}

/** Signs up with a passkey whose registration the browser has altered. */
async function signUpSaying(
  visitor: Visitor,
  change: (said: Said) => void,
  { username = 'grace', name = 'Laptop' } = {},
) {
  const who = { username, displayName: 'Ada' }
  const { options } = jsonOf(await visitor.post('/api/sign-up/options', who))
  const response = visitor.authenticator.create(options)
  change(response as unknown as Said)
  return visitor.post('/api/sign-up', { response, name })
}

test('an unrequested attestation is not verified', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  const certificate = new Uint8Array([1, 2, 3])
  const answer = await signUpSaying(ada, ({ response }) => {
    const attested = isoCBOR.decodeFirst<Map<string, unknown>>(
      new Uint8Array(Buffer.from(response.attestationObject, 'base64url')),
    )
    attested.set('fmt', 'apple').set('attStmt', new Map([['x5c', [certificate]]]))
    const object = isoCBOR.encode(attested as never)
    response.attestationObject = Buffer.from(object).toString('base64url')
  })
  assert.equal(answer.status, 201, answer.text)
  ada.cookies.clear()
  assert.equal((await ada.signIn()).status, 200)
})

test('only plausible transports are stored, whatever the browser reports', async (t) => {
  const service = await startTestService(t)
  for (const { username, said, kept } of TRANSPORTS) {
    const visitor = new Visitor(service)
    const answer = await signUpSaying(
      visitor,
      ({ response }) => {
        response.transports = said
      },
      { username },
    )
    assert.equal(answer.status, 201, answer.text)
    const { options } = jsonOf<{ options: { excludeCredentials: { transports: unknown }[] } }>(
      await visitor.post('/api/account/passkeys/options'),
    )
    const stored = options.excludeCredentials.map(({ transports }) => transports)
    assert.deepEqual(stored, [kept], JSON.stringify(said))
    assert.equal((await visitor.signIn()).status, 200)
  }
})

const TRANSPORTS = [
  { username: 'anna', said: 5, kept: [] },
  { username: 'berta', said: 'internal', kept: [] },
  { username: 'cecil', said: null, kept: [] },
  { username: 'diana', said: { internal: true }, kept: [] },
  {
    username: 'emil',
    said: ['hybrid', 5, null, '<b>', 'x'.repeat(33), 'of-tomorrow'],
    kept: ['hybrid', 'of-tomorrow'],
  },
  { username: 'frida', said: Array(100).fill('usb'), kept: Array(16).fill('usb') },
]

test('a name that is empty, too long or not plain text is rejected for a passkey', async (t) => {
  const service = await startTestService(t)
  const ada = new Visitor(service)
  await ada.signUp('ada')
  const [passkey] = (await ada.account()).passkeys
  for (const name of [
    '',
    ' ',
    '\u200b',
    'a\u0000b',
    'a\nb',
    '\ud800',
    'x\u202ey',
    'x'.repeat(65),
  ]) {
    const refused = await signUpSaying(new Visitor(service), () => undefined, { name })
    assertRefused(refused, 400, 'VALIDATION_ERROR', /name/)
    const renamed = await ada.send('PATCH', `/api/account/passkeys/${passkey?.id}`, { name })
    assertRefused(renamed, 400, 'VALIDATION_ERROR', /name/)
  }
  assert.equal((await ada.account()).passkeys[0]?.name, 'First passkey')
})
