import {
  agentHeader,
  agentOf,
  get,
  id,
  inputHeader,
  legacy,
  minimal,
  origin,
  otherTag,
  replacing,
  threeComponents,
  withHeaders,
} from './requests.ts'
import { AGENT, ISSUER, keys, NOW, paramsOf, received, signing } from './signing.ts'

/** Signatures that cover too little, at another time, by another key or with a used nonce. */
export const REFUSED = [
  ...['"@method"', '"@authority"', '"@path"'].map((left) => ({
    name: `${left.slice(1, -1)} is not covered`,
    why: 'strict needs it',
    reason: 'components',
    request: received(
      signing({
        components: [...threeComponents().filter(([name]) => name !== left), agentOf(keys.agent)],
      }),
    ),
  })),
  {
    name: '31 seconds ahead',
    why: 'at most 30',
    reason: 'not-yet-valid',
    request: received(signing({ created: NOW + 31 })),
  },
  {
    name: 'expired',
    why: 'expires is past',
    reason: 'expired',
    request: received(signing({ created: NOW - 61 })),
  },
  {
    name: 'no created',
    why: 'it is needed',
    reason: 'lifetime',
    request: received(signing({ params: paramsOf(keys.agent).replace(/;created=\d+/, '') })),
  },
  {
    name: 'no expires',
    why: 'it is needed',
    reason: 'lifetime',
    request: received(signing({ params: paramsOf(keys.agent).replace(/;expires=\d+/, '') })),
  },
  {
    name: 'valid for 301 seconds',
    why: 'at most 300',
    reason: 'lifetime',
    request: received(signing({ params: paramsOf(keys.agent, NOW, NOW + 301) })),
  },
  {
    name: 'expires before it was created',
    why: 'no lifetime',
    reason: 'lifetime',
    request: received(signing({ params: paramsOf(keys.agent, NOW + 10, NOW + 5) })),
  },
  {
    name: 'created is a string',
    why: 'an integer belongs there',
    reason: 'malformed',
    request: received(
      signing({ params: paramsOf(keys.agent).replace(/created=(\d+)/, 'created="$1"') }),
    ),
  },
  {
    name: 'the key of another agent',
    why: 'the keyid is not that of the agent that Signature-Agent names',
    reason: 'unknown-key',
    request: received(
      signing({
        key: keys.other,
        agent: `sig1="${keys.agent.signatureAgent}"`,
        agentComponent: agentOf(keys.agent),
      }),
    ),
  },
  {
    name: "another agent's keyid with its own signature",
    why: 'signed by another key',
    reason: 'bad-signature',
    request: received(
      signing({
        key: keys.other,
        params: paramsOf(keys.agent),
        agent: `sig1="${keys.agent.signatureAgent}"`,
        agentComponent: agentOf(keys.agent),
      }),
    ),
  },
  {
    name: 'an agent that does not exist',
    why: 'no such key',
    reason: 'unknown-key',
    request: received(
      signing({
        agent: `sig1="${ISSUER}/agent/CXk2mPqR9sTvWyZaBcDeFgHj/jwks.json"`,
        agentComponent: [AGENT, `"${ISSUER}/agent/CXk2mPqR9sTvWyZaBcDeFgHj/jwks.json"`],
      }),
    ),
  },
  {
    name: 'keys of somebody whom nobody lists, dialect ietf',
    why: 'nobody vouches for them',
    reason: 'untrusted-agent',
    request: received(
      signing({
        agent: 'sig1="https://agent.example/jwks.json"',
        agentComponent: [AGENT, '"https://agent.example/jwks.json"'],
      }),
    ),
  },
  {
    name: 'keys of somebody whom nobody lists, dialect legacy',
    why: 'nobody vouches for them',
    reason: 'untrusted-agent',
    request: received(legacy),
  },
  {
    name: 'keys of somebody whom nobody lists, dialect origin',
    why: 'nobody vouches for them',
    reason: 'untrusted-agent',
    request: received(origin),
  },
  {
    name: 'a published test key',
    why: 'everyone has it',
    reason: 'test-key',
    request: received(signing({ key: keys.published })),
  },
  {
    name: 'alg is another algorithm',
    why: 'the key is Ed25519',
    reason: 'algorithm',
    request: received(signing({ params: `${paramsOf(keys.agent)};alg="ecdsa-p256-sha256"` })),
  },
  {
    name: 'the base has a line too many',
    why: 'the signature is not one of the base that RFC 9421 builds',
    reason: 'bad-signature',
    request: received(signing({ params: paramsOf(keys.agent), trailingNewline: true })),
  },
  {
    name: 'a signature of zeros',
    why: 'not a signature',
    reason: 'bad-signature',
    request: replacing(agentHeader, inputHeader, [
      'Signature',
      `sig1=:${Buffer.alloc(64).toString('base64')}:`,
    ]),
  },
  {
    name: 'a signature of 63 bytes',
    why: 'not a signature',
    reason: 'bad-signature',
    request: replacing(agentHeader, inputHeader, [
      'Signature',
      `sig1=:${Buffer.alloc(63).toString('base64')}:`,
    ]),
  },
  {
    name: 'ServiceID of another agent',
    why: 'one request names one agent',
    reason: 'identification-mismatch',
    request: received(signing({ fields: [['ServiceID', keys.other.did ?? '']] })),
  },
  {
    name: 'ServiceID is not covered',
    why: 'somebody else may have added it',
    reason: 'identification-mismatch',
    request: withHeaders(id),
  },
  {
    name: 'a suspended agent',
    why: 'its certificate is not active',
    reason: 'suspended',
    request: received(signing({ key: keys.suspended })),
  },
  {
    name: 'a revoked agent',
    why: 'its certificate is not active',
    reason: 'revoked',
    request: received(signing({ key: keys.revoked })),
  },
  {
    name: 'no nonce',
    why: 'it is needed',
    reason: 'nonce',
    request: received(signing({ params: paramsOf(keys.agent).replace(/;nonce="\w+"/, '') })),
  },
  {
    name: 'a nonce of 21 characters',
    why: 'at least 22',
    reason: 'nonce',
    request: received(signing({ params: paramsOf(keys.agent, NOW, NOW + 60, 'A'.repeat(21)) })),
  },
  {
    name: 'a nonce of 129 characters',
    why: 'at most 128',
    reason: 'nonce',
    request: received(signing({ params: paramsOf(keys.agent, NOW, NOW + 60, 'A'.repeat(129)) })),
  },
  {
    name: 'a nonce in standard base64',
    why: 'base64url is needed',
    reason: 'nonce',
    request: received(
      signing({ params: paramsOf(keys.agent, NOW, NOW + 60, `${'A'.repeat(21)}+`) }),
    ),
  },
  {
    name: 'the same request again',
    why: 'its nonce was used',
    reason: 'replay',
    after: ['GET'],
    request: received(get),
  },
  {
    name: 'no signature',
    why: 'nothing is proven',
    reason: 'unsigned',
    request: replacing(id),
  },
  {
    name: 'a signature with another tag alone',
    why: 'it is for another purpose',
    reason: 'unsigned',
    request: replacing(['Signature-Input', `a=${otherTag}`], ['Signature', 'a=:AAAA:']),
  },
  {
    name: 'a verifier without audiences',
    why: 'the request cannot say where it belongs',
    reason: 'no-audience',
    audiences: [],
    request: received(get),
  },
  {
    name: 'wba: less is covered for a method that changes state',
    why: 'strict is needed',
    reason: 'components',
    profile: 'wba',
    maxLifetimeSeconds: 86_400,
    request: received(minimal('DELETE', null)),
  },
  {
    name: 'wba: less is covered by an agent of the service',
    why: 'its agents can sign everything',
    reason: 'components',
    profile: 'wba',
    maxLifetimeSeconds: 86_400,
    request: received(minimal('GET', keys.agent)),
  },
]
