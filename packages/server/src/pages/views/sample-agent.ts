import type { webcrypto } from 'node:crypto'
import {
  type AgentStatus,
  agentKeySetUrl,
  encodeBase64Url,
  namingFor,
  requestVerifier,
  signRequest,
} from '@countersign/protocol'

/** The agent of the sample: it signs requests in the browser, and a site checks them there. Nothing is sent. */
export interface SampleAgent {
  /** Signs a new request, and verifies it at a site for which the certificate has a status. */
  send(status: AgentStatus): Promise<SampleAnswer>
}

interface SampleAnswer {
  /** As it would be sent, a line each for the method and the headers. */
  readonly request: string
  readonly verdict: 'verified' | 'invalid' | 'unverified'
  /** The HTTP status and the reason. */
  readonly reason: string
}

/** The names of the deployment. */
interface SampleNames {
  readonly shortName: string
  readonly idHeader: string
  /** The origin of the service. */
  readonly issuer: string
}

const SITE = 'https://shop.example'
const PATH = '/orders?draft=1'
/** No agent has it. */
const TAIL = '1'.repeat(24)
const { subtle } = crypto

/** Creates an agent with a key of its own, which never leaves the browser. @throws if the browser has no Ed25519 */
export async function createSampleAgent({
  shortName,
  idHeader,
  issuer,
}: SampleNames): Promise<SampleAgent> {
  const pair = (await subtle.generateKey('Ed25519', false, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair
  const publicKey = new Uint8Array(await subtle.exportKey('raw', pair.publicKey))
  const naming = namingFor(shortName, idHeader)
  const did = naming.didPrefix + TAIL
  const signatureAgent = { dialect: 'ietf', url: agentKeySetUrl(issuer, TAIL) } as const
  return {
    async send(status) {
      const sent = [[idHeader, did]] as const
      const added = await signRequest(
        { method: 'GET', url: SITE + PATH, headers: sent, body: null },
        {
          publicKey,
          sign: async (message) =>
            new Uint8Array(await subtle.sign('Ed25519', pair.privateKey, message.slice())),
          signatureAgent,
          naming,
          createdAt: Date.now(),
          nonce: encodeBase64Url(crypto.getRandomValues(new Uint8Array(24))),
        },
      )
      const headers = [...sent, ...added]
      const verify = requestVerifier({
        audiences: [SITE],
        naming,
        now: Date.now,
        findKey: () => ({ publicKey, did, status }),
        verifySignature: (_key, message, signature) =>
          subtle.verify('Ed25519', pair.publicKey, signature.slice(), message.slice()),
        nonces: null,
      })
      const authority = new URL(SITE).host
      const { verdict, reason, ...result } = await verify({
        method: 'GET',
        scheme: 'https',
        authority,
        target: PATH,
        headers,
        body: null,
      })
      return {
        request: [
          `GET ${PATH}`,
          ...[['Host', authority], ...headers].map(([name, value]) => `${name}: ${value}`),
        ].join('\n'),
        verdict,
        reason: `${result.status}${reason === null ? '' : ` ${reason}`}`,
      }
    },
  }
}
