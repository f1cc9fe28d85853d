import { type Did, decodeKey, didWebOf } from '@countersign/protocol'
import { type Check, ofEachAgent, segment } from './check.ts'
import { expectBody, expectEqual, listOf, object, oneOf, that } from './expect.ts'
import { lookup } from './lookup-checks.ts'

const DID_JSON = 'application/did+json'
const DID_CORE = 'https://www.w3.org/ns/did/v1'
const JWS_2020 = 'https://w3id.org/security/suites/jws-2020/v1'
const publicKey = that(
  'a public key (32 bytes in base64)',
  (value) => typeof value === 'string' && decodeKey(value) !== null,
)

export const DID_DOCUMENT_CHECKS: readonly Check[] = [
  ofEachAgent(
    '4.7',
    'Without a special Accept header, the agent object is JSON',
    async (kit, { did }) => {
      const answer = await kit.client.get(`/api/agents/${segment(did)}`, { accept: '*/*' })
      expectBody(answer, 200, object({}))
      expectEqual(`${answer.request}: Content-Type`, answer.mediaType, 'application/json')
    },
  ),
  ofEachAgent(
    '4.7',
    'The DID document of an active agent has the shape of the contract',
    async (kit, { did }) => {
      if ((await lookup(kit, did)).certificate.status !== 'active') return
      const { origin } = kit.client
      const id = didWebOf(new URL(origin).host, did as Did)
      const key = `${id}#key-1`
      const answer = await kit.client.get(`/api/agents/${segment(did)}`, { accept: DID_JSON })
      const document = expectBody(
        answer,
        200,
        object({
          '@context': listOf(oneOf(DID_CORE, JWS_2020), 2),
          id: oneOf(id),
          controller: oneOf(id),
          verificationMethod: listOf(
            object({
              id: oneOf(key),
              type: oneOf('Ed25519VerificationKey2020'),
              controller: oneOf(id),
              publicKeyBase64: publicKey,
            }),
            1,
          ),
          authentication: listOf(oneOf(key), 1),
          service: listOf(
            object({
              id: oneOf(`${id}#agent-service`),
              type: oneOf('AgentService'),
              serviceEndpoint: oneOf(`${origin}/api/agents/${did}`),
            }),
            1,
          ),
        }),
      )
      expectEqual(`${answer.request}: Content-Type`, answer.mediaType, DID_JSON)
      const [first] = document['@context'] as readonly string[]
      expectEqual(`${answer.request}: @context[0]`, first, DID_CORE)
    },
  ),
]
