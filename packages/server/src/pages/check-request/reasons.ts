import type { DelegationFault, SignatureReason } from '@countersign/protocol'

/** The checks of a signed request, in the order in which the verifier makes them (docs: signed requests; RFC 9421 and Web Bot Auth). */
export type CheckName =
  | 'limits'
  | 'syntax'
  | 'authority'
  | 'path'
  | 'components'
  | 'times'
  | 'key'
  | 'delegation'
  | 'signature'
  | 'identification'
  | 'status'
  | 'approval'
  | 'nonce'
  | 'body'

interface ReasonMeaning {
  /** The check that it comes from. */
  readonly check: CheckName
  /** The last check that has passed before, if it is not the one in front of it. */
  readonly after?: CheckName
  /** What it means and how to fix it. */
  readonly words: string
}

/** The meaning of each reason to people. */
export const REASONS: Readonly<Record<SignatureReason, ReasonMeaning>> = {
  unsigned: {
    check: 'limits',
    words: 'The request has no Web Bot Auth signature. Paste Signature and Signature-Input too.',
  },
  limits: {
    check: 'limits',
    words:
      'A field has more than 8 KiB, or there are more than 4 signatures or 32 signed components.',
  },
  malformed: {
    check: 'syntax',
    words:
      'The signature cannot be parsed: a signed header is missing or repeated, or there is not exactly one signature with the tag web-bot-auth.',
  },
  'no-audience': {
    check: 'authority',
    words: 'The verifier has no list of its own origins.',
  },
  'bad-host': {
    check: 'authority',
    words: 'The Host header is repeated, or differs from the host of the URL.',
  },
  authority: {
    check: 'authority',
    words: 'The request was sent to another site. Somebody may have forwarded it.',
  },
  insecure: {
    check: 'authority',
    words:
      'The request was received over plain http. A signature does not cover the scheme, so https is required.',
  },
  'bad-path': {
    check: 'path',
    words: 'The path is not in its normalized form, so two programs could read it differently.',
  },
  components: {
    check: 'components',
    words:
      'The signature does not cover everything that matters: @method, @authority, @path, @query if there is one, Content-Digest for a body, and the headers that change the meaning.',
  },
  'not-yet-valid': {
    check: 'times',
    words: 'created is more than 30 seconds in the future. Compare the clocks.',
  },
  expired: {
    check: 'times',
    words: 'The signature has expired. The agent must sign the request again.',
  },
  lifetime: {
    check: 'times',
    words: 'created or expires is missing, or they are more than 300 seconds apart.',
  },
  'test-key': {
    check: 'key',
    words: 'The key is published in a standard, so everyone has it.',
  },
  'untrusted-agent': {
    check: 'key',
    words:
      'Signature-Agent names no keys that this verifier trusts, or has a type that is not known.',
  },
  'unknown-key': {
    check: 'key',
    words:
      'The agent does not exist, or keyid is not its current key. It may have changed its key.',
  },
  'directory-unavailable': {
    check: 'key',
    words: 'The keys of the agent cannot be read at the moment. Try again later.',
  },
  'delegation-refused': {
    check: 'delegation',
    words:
      'A delegate signed this request. Sites refuse delegates unless their settings accept them.',
  },
  'delegation-invalid': {
    check: 'delegation',
    words: 'The chain of delegations is invalid.',
  },
  'delegation-expired': {
    check: 'delegation',
    words: 'The delegation has expired. The delegate needs another one of its agent.',
  },
  'delegation-ended': {
    check: 'delegation',
    words:
      'The delegation has ended: the agent or its owner has ended it, or the certificate of the agent was replaced or revoked.',
  },
  algorithm: {
    check: 'signature',
    words: 'alg is not ed25519.',
  },
  'bad-signature': {
    check: 'signature',
    words:
      'The key did not sign this request. A signed header, the URL or the method differs from what was sent.',
  },
  'identification-mismatch': {
    check: 'identification',
    words: 'The identification header names another agent, or is not signed.',
  },
  suspended: {
    check: 'status',
    words: 'The certificate of this agent is suspended.',
  },
  revoked: {
    check: 'status',
    words: 'The certificate of this agent is revoked.',
  },
  'delegation-limit': {
    check: 'delegation',
    after: 'status',
    words:
      'The request is outside the limits of its delegation: another site, method, path or MCP call, or a header that overrides the method or the path.',
  },
  'approval-required': {
    check: 'approval',
    words:
      'The request has no approval, or one of a kind that the site does not accept. The agent has to ask its owner.',
  },
  'approval-invalid': {
    check: 'approval',
    words: 'The approval is no valid token of this service.',
  },
  'approval-mismatch': {
    check: 'approval',
    words:
      'The approval is for another agent, method, URL, content type or body, or the request has a header that overrides the method or the path.',
  },
  'approval-expired': {
    check: 'approval',
    words: 'The approval has expired. The agent has to ask its owner for another one.',
  },
  'approval-used': {
    check: 'approval',
    words: 'The approval was used before. It admits its request once.',
  },
  'approval-unchecked': {
    check: 'approval',
    words: 'It cannot be determined whether the approval was used before.',
  },
  'not-admitted': {
    check: 'status',
    words: 'The policy of the site does not admit this agent.',
  },
  nonce: {
    check: 'nonce',
    words: 'The nonce is missing, or is not 22 to 128 base64url characters.',
  },
  replay: {
    check: 'nonce',
    words: 'The nonce was used before: this is a copy of an earlier request.',
  },
  'too-many-requests': {
    check: 'nonce',
    words: 'The key has used too many nonces in a short time.',
  },
  'replay-unchecked': {
    check: 'nonce',
    words: 'It cannot be determined whether the nonce was used before.',
  },
  digest: {
    check: 'body',
    words: 'The body does not match Content-Digest, or Content-Digest cannot be parsed.',
  },
}

/** Which step of the check "Delegation" an invalid chain fails (docs: delegation). */
export const CHAIN_FAULTS: Readonly<Record<DelegationFault, string>> = {
  format: 'Format: the chain or one of its values has another form than the documentation says.',
  key: 'Keys: the last key is not keyid, or a key occurs twice or is none that may sign.',
  depth: 'Depth: there are more hops than the owner, or the hop before, has allowed.',
  times:
    'Times: a hop lasts longer than 24 hours, than the hop before or than the certificate, or begins in the future.',
  widened: 'Limits: a hop allows more than the one before it.',
  binding: 'Binding: a hop was signed for another certificate or hop than the one before it.',
  root: 'Certificate: it is not one of this service for the agent that Signature-Agent names.',
  signature: 'Signatures: the key before it has not signed a hop.',
}
