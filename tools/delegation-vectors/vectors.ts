import { ISSUER, keys, NOW, SHOP } from '../signature-vectors/signing.ts'
import { chain, ISSUER_KEYS, STATUS_LIST, use } from './chains.ts'
import { FORM } from './form.ts'
import { LINKS } from './links.ts'
import { CHANGED, LOOPBACK, USES, VALID } from './uses.ts'

const { agent, other, suspended, published } = keys

/** The content of vectors/delegation.json. */
export const vectors = {
  shortName: 'svc',
  idHeader: 'ServiceID',
  now: NOW * 1000,
  audiences: [SHOP, LOOPBACK],
  issuer: ISSUER,
  keySet: { keys: [ISSUER_KEYS.ed25519.jwk, ISSUER_KEYS.p256.jwk] },
  statusList: STATUS_LIST,
  agents: [agent, other, suspended, published].map(({ seedHex: _, ...each }) => ({
    ...each,
    keySequence: 2,
  })),
  delegation: { maxDepth: 3, maxSeconds: 86_400, mcp: true },
  valid: [
    ...VALID,
    {
      ...VALID[0],
      name: 'with a nonce that is used again',
      request: use(chain({}), { nonce: 'R'.repeat(22) }),
    },
  ],
  invalid: [...FORM, ...LINKS, ...USES, ...CHANGED],
}
