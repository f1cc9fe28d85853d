import { encodeBase64, utf8 } from '@countersign/protocol'
import { newKey, type Signer } from '@countersign/sdk'
import type { Answer } from './answer.ts'
import { type Check, type Kit, ofOwnAgents, segment } from './check.ts'
import { expectBody, expectEqual, expectError, flag, object, someText } from './expect.ts'
import { didShape, lookup, STATUS } from './lookup-checks.ts'

export const VERIFY_PATH = '/api/v1/agent/verify'

/** The body of a verification (contract 4.3), signed. @param signed the text that is signed, if it is not the challenge */
export async function verifyBody(signer: Signer, challenge: string, signed = challenge) {
  return {
    publicKey: encodeBase64(signer.publicKey),
    challenge,
    signature: encodeBase64(await signer.sign(utf8(signed))),
  }
}

/** A random challenge in the plain form. */
export function newChallenge(): string {
  return encodeBase64(crypto.getRandomValues(new Uint8Array(24)))
}

async function verify(
  { client }: Kit,
  signer: Signer,
  challenge: string,
  signed = challenge,
): Promise<Answer> {
  return client.post(VERIFY_PATH, await verifyBody(signer, challenge, signed))
}

export const VERIFY_CHECKS: readonly Check[] = [
  {
    section: '4.3',
    title: 'A valid signature by an unknown key is 404 NOT_FOUND',
    async run(kit, examine) {
      await examine('', async () => {
        expectError(await verify(kit, await newKey(), newChallenge()), 404, 'NOT_FOUND')
      })
    },
  },
  {
    section: '4.3',
    title: 'An invalid body is 400 VALIDATION_ERROR',
    async run({ client }, examine) {
      const good = await verifyBody(await newKey(), newChallenge())
      const { publicKey, challenge, signature } = good
      const bytes = (size: number) => encodeBase64(new Uint8Array(size))
      const cases: Readonly<Record<string, unknown>> = {
        'no body': '',
        'not JSON': '{',
        'an array': [good],
        'no publicKey': { challenge, signature },
        'no challenge': { publicKey, signature },
        'no signature': { publicKey, challenge },
        'a challenge that is a number': { ...good, challenge: 1 },
        'a key of 31 bytes': { ...good, publicKey: bytes(31) },
        'a key of 33 bytes': { ...good, publicKey: bytes(33) },
        'a signature of 63 bytes': { ...good, signature: bytes(63) },
        'a signature of 65 bytes': { ...good, signature: bytes(65) },
      }
      for (const [name, body] of Object.entries(cases)) {
        await examine(name, async () =>
          expectError(await client.post(VERIFY_PATH, body), 400, 'VALIDATION_ERROR'),
        )
      }
    },
  },
  ofOwnAgents('4.3', 'A valid signature has the fields of the contract', async (kit, agent) => {
    const answer = await verify(kit, agent.signer, newChallenge())
    const body = expectBody(
      answer,
      200,
      object({
        verified: flag,
        signatureValid: flag,
        certified: flag,
        identityLevel: someText,
        agent: object({
          [kit.naming.didField]: didShape(kit),
          displayName: someText,
          status: STATUS,
        }),
      }),
    )
    const found = await lookup(kit, agent.did)
    const at = (name: string) => `${answer.request}: ${name}`
    expectEqual(at('signatureValid'), body.signatureValid, true)
    expectEqual(at('certified'), body.certified, true)
    const level = found.owner.identityMethod ?? 'unverified'
    expectEqual(at('identityLevel'), body.identityLevel, level)
    const { status } = body.agent as { status: unknown }
    // With several agents, a service may choose which one of the key it answers with.
    if (kit.agents.filter((each) => each.signer === agent.signer).length > 1) return
    const named = (body.agent as Record<string, unknown>)[kit.naming.didField]
    expectEqual(at(`agent.${kit.naming.didField}`), named, agent.did)
    expectEqual(at('agent.status'), status, found.certificate.status)
  }),
  ofOwnAgents('4.3', 'The challenge is signed as UTF-8', async (kit, { signer }) => {
    for (const challenge of ['é', 'e\u0301', '\u{1f600}', ' x\n']) {
      expectBody(await verify(kit, signer, challenge), 200, object({ signatureValid: flag }))
    }
  }),
  ofOwnAgents('4.3', 'An invalid signature is 401 INVALID_SIGNATURE', async (kit, { signer }) => {
    const challenge = newChallenge()
    for (const signed of [newChallenge(), `${challenge}\n`, challenge.toLowerCase()]) {
      expectError(await verify(kit, signer, challenge, signed), 401, 'INVALID_SIGNATURE')
    }
    const ofAnotherKey = {
      ...(await verifyBody(await newKey(), challenge)),
      publicKey: encodeBase64(signer.publicKey),
    }
    expectError(await kit.client.post(VERIFY_PATH, ofAnotherKey), 401, 'INVALID_SIGNATURE')
  }),
  ofOwnAgents('4.2', 'A lookup by a new key is that of its agent', async (kit, { did, signer }) => {
    if (kit.agents.filter((each) => each.signer === signer).length > 1) return
    const publicKey = encodeBase64(signer.publicKey)
    const { certificate } = await lookup(kit, publicKey)
    const where = `GET /api/v1/agent/${segment(publicKey)}: certificate.id`
    expectEqual(where, certificate.id, did)
  }),
]
