import {
  type DidDocument,
  didWebOf,
  encodeBase64,
  jwkOf,
  multikeyOf,
  type ResolvableDidDocument,
} from '@countersign/protocol'
import { didOfAgent, type Site } from '../base/site.ts'
import type { AgentRecord } from './agent-record.ts'

const DID_V1 = 'https://www.w3.org/ns/did/v1'
const JWS_2020 = 'https://w3id.org/security/suites/jws-2020/v1'
const MULTIKEY = 'https://w3id.org/security/multikey/v1'
const JWK = 'https://w3id.org/security/jwk/v1'

/**
 * The DID document in the contract's form (4.7), in which the current key is always `#key-1`. For a suspended agent, `authentication` is empty; `verificationMethod` stays,
 * because the contract gives it one entry, unless a restored service lost the key. For a revoked agent, everything is empty.
 */
export function didDocumentOf(site: Site, agent: AgentRecord): DidDocument {
  const { did, id } = identifiersOf(site, agent)
  const key = `${id}#key-1`
  return {
    '@context': [DID_V1, JWS_2020],
    id,
    controller: id,
    verificationMethod: ifKeyIsKnown(agent, [
      {
        id: key,
        type: 'Ed25519VerificationKey2020',
        controller: id,
        publicKeyBase64: encodeBase64(agent.publicKey),
      },
    ]),
    authentication: ifActive(agent, [key]),
    service: unlessRevoked(agent, serviceOf(site, did, id)),
  }
}

/**
 * The DID document that did:web resolvers fetch as `did.json`. Strict resolvers reject the contract's `publicKeyBase64`, so
 * this document has the key as Multikey and as JsonWebKey. Only that of an active agent has a key: libraries such as did-jwt
 * accept every key in `verificationMethod`, whatever `authentication` says.
 */
export function resolvableDidDocumentOf(site: Site, agent: AgentRecord): ResolvableDidDocument {
  const { did, id } = identifiersOf(site, agent)
  const multikey = `${id}#key-${agent.profile.keySequence}`
  const jwk = `${multikey}-jwk`
  const keys = ifActive(agent, [multikey, jwk])
  return {
    '@context': [DID_V1, MULTIKEY, JWK],
    id,
    controller: id,
    verificationMethod: ifActive(agent, [
      {
        id: multikey,
        type: 'Multikey',
        controller: id,
        publicKeyMultibase: multikeyOf(agent.publicKey),
      },
      { id: jwk, type: 'JsonWebKey', controller: id, publicKeyJwk: jwkOf(agent.publicKey) },
    ]),
    authentication: keys,
    assertionMethod: keys,
    service: unlessRevoked(agent, serviceOf(site, did, id)),
  }
}

function identifiersOf(site: Site, agent: AgentRecord) {
  const did = didOfAgent(site, agent.tail)
  return { did, id: didWebOf(site.host, did) }
}

function ifActive<T>(agent: AgentRecord, entries: T[]): T[] {
  return agent.status === 'active' ? entries : []
}

function ifKeyIsKnown<T>(agent: AgentRecord, entries: T[]): T[] {
  return agent.profile.isKeyLost ? [] : unlessRevoked(agent, entries)
}

function unlessRevoked<T>(agent: AgentRecord, entries: T[]): T[] {
  return agent.status === 'revoked' ? [] : entries
}

function serviceOf(site: Site, did: string, id: string) {
  return [
    {
      id: `${id}#agent-service`,
      type: 'AgentService',
      serviceEndpoint: `${site.baseUrl}/api/agents/${did}`,
    },
  ]
}
