import { type ClaimToken, claimMessage, encodeBase64 } from '@countersign/protocol'
import { newKey, type Signer } from '@countersign/sdk'
import type { Answer } from './answer.ts'
import type { Check, Kit } from './check.ts'
import {
  expectBody,
  expectEqual,
  expectError,
  expectRefusal,
  Mismatch,
  object,
  oneOf,
  Skip,
  someText,
} from './expect.ts'
import { didShape, lookup } from './lookup-checks.ts'

export const CLAIM_PATH = '/api/v1/claim'
const LABEL = 'conformance'

/** The body of a claim (contract 4.4). @param signed the text that is signed, if it is not the one of the contract */
export async function claimBody(
  signer: Signer,
  claimToken: string,
  agentId: string,
  signed?: string,
) {
  const message =
    signed === undefined
      ? claimMessage(claimToken as ClaimToken, agentId)
      : new TextEncoder().encode(signed)
  return {
    claimToken,
    agentId,
    publicKey: encodeBase64(signer.publicKey),
    signature: encodeBase64(await signer.sign(message)),
  }
}

/** A token that the deployment has not issued. */
export function unknownToken({ naming }: Kit): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `${naming.tokenPrefix}${Buffer.from(bytes).toString('hex')}`
}

/** Claims, and remembers the agent. @returns its DID */
async function claim(kit: Kit, signer: Signer, token: string, agentId: string): Promise<string> {
  const answer = await kit.client.post(CLAIM_PATH, await claimBody(signer, token, agentId))
  const did = (answer.body as Record<string, unknown> | undefined)?.[kit.naming.didField]
  // Remembered before anything else is checked, so that it is renounced in any case.
  if (answer.status < 300 && typeof did === 'string') kit.agents.push({ did, signer })
  expectBody(
    answer,
    200,
    object({ success: oneOf(true), message: someText, [kit.naming.didField]: didShape(kit) }),
  )
  return did as string
}

/** What the checks below share: the token and the agent of the first claim. */
class FirstClaim {
  readonly token: string
  readonly signer: Signer
  did: string | null = null

  constructor(token: string, signer: Signer) {
    this.token = token
    this.signer = signer
  }
}

/** The checks of claims, in this order. Each run needs new ones, because they share the first claim. */
export function claimChecks(): readonly Check[] {
  let first: FirstClaim | null = null
  const begin = async (kit: Kit) => {
    if (first !== null) return first
    const token = kit.claimTokens.shift()
    if (token === undefined) throw new Skip('needs --claim-token <token>')
    first = new FirstClaim(token, await newKey())
    return first
  }
  const claimed = async (kit: Kit) => {
    const { token, signer, did } = await begin(kit)
    if (did === null) throw new Skip('the claim failed')
    return { token, signer, did }
  }
  const nextToken = (kit: Kit) => {
    const token = kit.claimTokens.shift()
    if (token !== undefined) return token
    throw new Skip('needs one more --claim-token of the same owner, from the same batch')
  }
  return [
    {
      section: '4.4',
      title: 'A signature over other bytes is 401 INVALID_SIGNATURE',
      async run(kit, examine) {
        const { token, signer } = await begin(kit)
        const cases = {
          'a newline after the label': `${token}|${LABEL}\n`,
          'another label': `${token}|other`,
          'another separator': `${token}:${LABEL}`,
          'the token alone': token,
        }
        for (const [name, signed] of Object.entries(cases)) {
          await examine(name, async () => {
            const body = await claimBody(signer, token, LABEL, signed)
            expectError(await kit.client.post(CLAIM_PATH, body), 401, 'INVALID_SIGNATURE')
          })
        }
      },
    },
    {
      section: '4.4',
      title: 'A valid claim mints a DID; refused claims have not used up the token (3.2)',
      async run(kit, examine) {
        const { token, signer } = await begin(kit)
        await examine('', async () => {
          const did = await claim(kit, signer, token, LABEL)
          if (first !== null) first.did = did
        })
      },
    },
    {
      section: '3.1',
      title: 'A DID is live immediately after the claim, and its owner is verified (3.2)',
      async run(kit, examine) {
        const { did } = await claimed(kit)
        await examine(did, async () => {
          const { verified, owner, certificate } = await lookup(kit, did)
          const where = `GET /api/v1/agent/${encodeURIComponent(did)}`
          expectEqual(`${where}: certificate.status`, certificate.status, 'active')
          expectEqual(`${where}: verified`, verified, true)
          expectEqual(`${where}: owner.identityLevel`, owner.identityLevel, 'verified')
        })
      },
    },
    {
      section: '3.2',
      title: 'A used token cannot be used again',
      async run(kit, examine) {
        const { token } = await claimed(kit)
        await examine('by another key', async () => {
          const body = await claimBody(await newKey(), token, LABEL)
          expectRefusal(await kit.client.post(CLAIM_PATH, body))
        })
      },
    },
    {
      section: '7',
      title: 'A pair of key and label that is registered is 409 KEY_ALREADY_CLAIMED',
      async run(kit, examine) {
        const { signer } = await claimed(kit)
        const token = nextToken(kit)
        await examine('', async () => {
          const body = await claimBody(signer, token, LABEL)
          expectError(await kit.client.post(CLAIM_PATH, body), 409, 'KEY_ALREADY_CLAIMED')
        })
        // The refused claim has not used the token.
        kit.claimTokens.unshift(token)
      },
    },
    {
      section: '4.4',
      title: 'The same key with another label mints another DID',
      async run(kit, examine) {
        const { signer, did } = await claimed(kit)
        const token = nextToken(kit)
        await examine('', async () => {
          const second = await claim(kit, signer, token, `${LABEL} é`)
          if (second === did) throw new Mismatch(`POST ${CLAIM_PATH}`, 'another DID', 'the same')
        })
      },
    },
    {
      section: '3.2',
      title: 'An expired token is 410 TOKEN_EXPIRED',
      async run(kit, examine) {
        const { expiredToken } = kit
        if (expiredToken === null) throw new Skip('needs --expired-claim-token <token>')
        await examine('', async () => {
          const body = await claimBody(await newKey(), expiredToken, LABEL)
          expectError(await kit.client.post(CLAIM_PATH, body), 410, 'TOKEN_EXPIRED')
        })
      },
    },
  ]
}

/** A pair can be claimed again after its agent was revoked. Runs after the agents were renounced. */
export const CLAIM_AGAIN_CHECK: Check = {
  section: '3.1',
  title: 'After a revocation, the same key and label can be claimed again',
  async run(kit, examine) {
    const [first] = kit.agents.filter((each) => each.signer !== null)
    const signer = first?.signer ?? null
    if (first === undefined || signer === null) throw new Skip('needs --claim-token <token>')
    if ((await lookup(kit, first.did)).certificate.status !== 'revoked') {
      throw new Skip('the agent could not be revoked over HTTP')
    }
    const token = kit.claimTokens.shift()
    if (token === undefined) throw new Skip('needs a third --claim-token of the same batch')
    await examine('', async () => {
      const did = await claim(kit, signer, token, LABEL)
      if (did === first.did) throw new Mismatch(`POST ${CLAIM_PATH}`, 'another DID', 'the same')
    })
  },
}

/** Claims that need no token of the deployment. */
export const REFUSED_CLAIM_CHECKS: readonly Check[] = [
  {
    section: '4.4',
    title: 'A claim with an unknown token is refused, and not for want of a session',
    async run(kit, examine) {
      await examine('', async () => {
        const body = await claimBody(await newKey(), unknownToken(kit), LABEL)
        const answer = await kit.client.post(CLAIM_PATH, body)
        expectRefusal(answer)
        assertNoSession(answer)
      })
    },
  },
  {
    section: '4.4',
    title: 'An invalid body is 400 VALIDATION_ERROR',
    async run(kit, examine) {
      const good = await claimBody(await newKey(), unknownToken(kit), LABEL)
      const { claimToken, agentId, publicKey, signature } = good
      const bytes = (size: number) => encodeBase64(new Uint8Array(size))
      const cases: Readonly<Record<string, unknown>> = {
        'not JSON': '{',
        'no claimToken': { agentId, publicKey, signature },
        'no agentId': { claimToken, publicKey, signature },
        'no publicKey': { claimToken, agentId, signature },
        'no signature': { claimToken, agentId, publicKey },
        'a token of 31 digits': { ...good, claimToken: claimToken.slice(0, -1) },
        'a token with another prefix': { ...good, claimToken: `x${claimToken}` },
        'an agentId that is a number': { ...good, agentId: 1 },
        'a key of 31 bytes': { ...good, publicKey: bytes(31) },
        'a signature of 63 bytes': { ...good, signature: bytes(63) },
      }
      for (const [name, body] of Object.entries(cases)) {
        await examine(name, async () =>
          expectError(await kit.client.post(CLAIM_PATH, body), 400, 'VALIDATION_ERROR'),
        )
      }
    },
  },
  {
    section: '4.8',
    title: 'Without a session, no claim token is issued',
    async run({ client }, examine) {
      await examine('', async () => expectRefusal(await client.post('/api/agents/token', {})))
    },
  },
]

function assertNoSession({ request, status, body }: Answer): void {
  const code = (body as { error?: { code?: unknown } } | undefined)?.error?.code
  if (code !== 'UNAUTHENTICATED' && code !== 'FORBIDDEN') return
  throw new Mismatch(request, 'an error about the token', `${status} ${code}`)
}
