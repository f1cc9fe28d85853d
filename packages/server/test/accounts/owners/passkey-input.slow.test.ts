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
async function signUpSaying(visitor: Visitor, change: (said: Said) => void, name = 'Laptop') {
  const who = { username: 'ada', displayName: 'Ada' }
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

for (const [what, said, kept] of [
  ['a number', 5, []],
  ['a text', 'internal', []],
  ['null', null, []],
  ['an object', { internal: true }, []],
  [
    'a list of all sorts',
    ['hybrid', 5, null, '<b>', 'x'.repeat(33), 'of-tomorrow'],
    ['hybrid', 'of-tomorrow'],
  ],
  ['too much', Array.from({ length: 100 }, () => 'usb'), Array.from({ length: 16 }, () => 'usb')],
] as const) {
  test(`only plausible transports are stored if the browser reports ${what}`, async (t) => {
    const service = await startTestService(t)
    const ada = new Visitor(service)
    const answer = await signUpSaying(ada, ({ response }) => {
      response.transports = said
    })
    assert.equal(answer.status, 201, answer.text)
    const { options } = jsonOf<{ options: { excludeCredentials: { transports: unknown }[] } }>(
      await ada.post('/api/account/passkeys/options'),
    )
    assert.deepEqual(
      options.excludeCredentials.map(({ transports }) => transports),
      [kept],
    )
    assert.equal((await ada.signIn()).status, 200)
  })
}

for (const name of ['', ' ', '\u200b', 'a\u0000b', 'a\nb', '\ud800', 'x\u202ey', 'x'.repeat(65)]) {
  test(`${JSON.stringify(name)} is rejected as a passkey's name`, async (t) => {
    const service = await startTestService(t)
    const ada = new Visitor(service)
    const refused = await signUpSaying(ada, () => undefined, name)
    assertRefused(refused, 400, 'VALIDATION_ERROR', /name/)
    await ada.signUp('ada')
    const [passkey] = (await ada.account()).passkeys
    const renamed = await ada.send('PATCH', `/api/account/passkeys/${passkey?.id}`, { name })
    assertRefused(renamed, 400, 'VALIDATION_ERROR', /name/)
    assert.equal((await ada.account()).passkeys[0]?.name, 'First passkey')
  })
}
