import { ISSUER_KEYS, STATUS_LIST } from '../delegation-vectors/chains.ts'
import { ISSUER, keys, NOW, SHOP } from '../signature-vectors/signing.ts'
import { BODIES } from './bodies.ts'
import { STATEMENTS } from './statements.ts'
import { INVALID, POLICY, VALID } from './tokens.ts'

/** The content of vectors/approvals.json. */
export const vectors = {
  shortName: 'svc',
  idHeader: 'ServiceID',
  now: NOW * 1000,
  audiences: [SHOP],
  issuer: ISSUER,
  keySet: { keys: [ISSUER_KEYS.ed25519.jwk, ISSUER_KEYS.p256.jwk] },
  statusList: STATUS_LIST,
  agents: [keys.agent, keys.other].map(({ seedHex: _, ...each }) => ({ ...each, keySequence: 2 })),
  delegation: { maxDepth: 3, maxSeconds: 86_400, mcp: false },
  policy: POLICY,
  valid: VALID,
  invalid: INVALID,
  bodies: BODIES,
  statements: STATEMENTS,
}
