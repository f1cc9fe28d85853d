import { encodeBase64, randomTail } from '@countersign/protocol'
import { newKey } from '@countersign/sdk'
import { type Check, type Kit, ofEachAgent, segment } from './check.ts'
import {
  expectBody,
  expectEqual,
  expectError,
  flag,
  Mismatch,
  object,
  oneOf,
  orNull,
  type Shape,
  someText,
  textLike,
  timestamp,
} from './expect.ts'

export const STATUS = oneOf('active', 'suspended', 'revoked')

/** The response to a lookup, checked (contract 2.2, 2.3, 4.1). */
export interface Lookup {
  readonly verified: boolean
  readonly owner: {
    readonly identityMethod: string | null
    readonly identityLevel: string
    readonly claimedAt: string
  }
  readonly certificate: { readonly id: string; readonly status: string; readonly verifyUrl: string }
}

/** A DID of the deployment (contract 2.1). */
export function didShape({ naming }: Kit): Shape {
  return textLike(naming.didPattern, `a DID (${naming.didPrefix} and 24 base58 characters)`)
}

/** Contract 4.1. @param reference a DID or a public key */
export async function lookup(kit: Kit, reference: string): Promise<Lookup> {
  const answer = await kit.client.get(`/api/v1/agent/${segment(reference)}`)
  const body = expectBody(
    answer,
    200,
    object({
      verified: flag,
      owner: object({
        identityMethod: orNull(someText),
        identityLevel: oneOf('verified', 'unverified'),
        claimedAt: timestamp,
      }),
      certificate: object({
        id: didShape(kit),
        status: STATUS,
        verifyUrl: textLike(/^\/(?!\/)/, 'a relative URL that begins with a slash'),
      }),
    }),
  )
  return body as unknown as Lookup
}

/** A DID that no agent has. */
export function unknownDid({ naming }: Kit): string {
  return `${naming.didPrefix}${randomTail((count) => crypto.getRandomValues(new Uint8Array(count)))}`
}

/** A public key that no agent has, in base64. */
async function unknownKey(): Promise<string> {
  return encodeBase64((await newKey()).publicKey)
}

export const LOOKUP_CHECKS: readonly Check[] = [
  {
    section: '4.1',
    title: 'An unknown DID is 404 NOT_FOUND',
    async run(kit, examine) {
      for (const path of [
        '/api/v1/agent/*',
        '/api/v1/agent/*/card',
        '/api/agents/*',
        '/api/agents/*/card',
      ]) {
        await examine(path.replace('*', '{did}'), async () => {
          const answer = await kit.client.get(path.replace('*', segment(unknownDid(kit))))
          expectError(answer, 404, 'NOT_FOUND')
        })
      }
      await examine('DID document', async () => {
        const accept = 'application/did+json'
        const answer = await kit.client.get(`/api/agents/${segment(unknownDid(kit))}`, { accept })
        expectError(answer, 404, 'NOT_FOUND')
      })
    },
  },
  {
    section: '4.2',
    title: 'An unknown public key is 404 NOT_FOUND',
    async run(kit, examine) {
      await examine('', async () => {
        const answer = await kit.client.get(`/api/v1/agent/${segment(await unknownKey())}`)
        expectError(answer, 404, 'NOT_FOUND')
      })
    },
  },
  {
    section: '7',
    title: 'A reference that is neither a DID nor a public key is 400 VALIDATION_ERROR',
    async run(kit, examine) {
      const did = unknownDid(kit)
      const cases = {
        'a tail of 23 characters': did.slice(0, -1),
        'a tail of 25 characters': `${did}1`,
        'a tail with 0, which base58 excludes': `${did.slice(0, -1)}0`,
        'a key of 31 bytes': encodeBase64(new Uint8Array(31)),
        'a word': 'nobody',
      }
      for (const [name, reference] of Object.entries(cases)) {
        await examine(name, async () => {
          const answer = await kit.client.get(`/api/v1/agent/${segment(reference)}`)
          expectError(answer, 400, 'VALIDATION_ERROR')
        })
      }
    },
  },
  ofEachAgent('4.1', 'A lookup has the fields of sections 2.2 and 2.3', async (kit, { did }) => {
    const { certificate } = await lookup(kit, did)
    expectEqual(`GET /api/v1/agent/${segment(did)}: certificate.id`, certificate.id, did)
  }),
  ofEachAgent(
    '2.3',
    'identityLevel is verified if identityMethod is not null',
    async (kit, { did }) => {
      const { owner } = await lookup(kit, did)
      const expected = owner.identityMethod === null ? 'unverified' : 'verified'
      const where = `GET /api/v1/agent/${segment(did)}: owner.identityLevel`
      expectEqual(where, owner.identityLevel, expected)
    },
  ),
  ofEachAgent('4.1', 'verified is true for an active certificate', async (kit, { did }) => {
    const { verified, certificate } = await lookup(kit, did)
    if (certificate.status !== 'active') return
    expectEqual(`GET /api/v1/agent/${segment(did)}: verified`, verified, true)
  }),
  ofEachAgent('2.2', 'verifyUrl leads to the certificate page', async (kit, { did }) => {
    const { verifyUrl } = (await lookup(kit, did)).certificate
    const { request, status } = await kit.client.page(verifyUrl, 'text/html')
    // The page of a revoked agent may come with another status, such as 410, but there is one.
    if (status === 404 || status >= 500 || (status >= 300 && status < 400)) {
      throw new Mismatch(request, 'a page', `status ${status}`)
    }
  }),
  ofEachAgent(
    '4.2',
    'A lookup by public key is one of an agent with this key',
    async (kit, { did }) => {
      const publicKey = await publicKeyOf(kit, did)
      if (publicKey === null) return
      const { certificate } = await lookup(kit, publicKey)
      const where = `GET /api/v1/agent/${segment(publicKey)}: the key of certificate.id`
      expectEqual(where, await publicKeyOf(kit, certificate.id), publicKey)
    },
  ),
]

/** The public key in the DID document of an agent; null if it has none, as that of a revoked agent. */
async function publicKeyOf({ client }: Kit, did: string): Promise<string | null> {
  const accept = 'application/did+json'
  const { body } = await client.get(`/api/agents/${segment(did)}`, { accept })
  const methods = (body as { verificationMethod?: unknown } | undefined)?.verificationMethod
  const key = Array.isArray(methods) ? methods[0]?.publicKeyBase64 : undefined
  return typeof key === 'string' ? key : null
}
