import type { SignatureReason } from '@countersign/protocol'

/** What each reason means and how to fix it, in plain words. */
export const REASON_WORDS: Readonly<Record<SignatureReason, string>> = {
  unsigned: 'The request has no Web Bot Auth signature. Paste Signature and Signature-Input too.',
  limits:
    'A field has more than 8 KiB, or there are more than 4 signatures or 32 signed components.',
  malformed:
    'The signature cannot be parsed: a signed header is missing or repeated, or there is not exactly one signature with the tag web-bot-auth.',
  'no-audience': 'The verifier has no list of its own origins.',
  'bad-host': 'The Host header is repeated, or differs from the host of the URL.',
  authority: 'The request was sent to another site. Somebody may have forwarded it.',
  insecure:
    'The request was received over plain http. A signature does not cover the scheme, so https is required.',
  'bad-path': 'The path is not in its normalized form, so two programs could read it differently.',
  components:
    'The signature does not cover everything that matters: @method, @authority, @path, @query if there is one, Content-Digest for a body, and the headers that change the meaning.',
  'not-yet-valid': 'created is more than 30 seconds in the future. Compare the clocks.',
  expired: 'The signature has expired. The agent must sign the request again.',
  lifetime: 'created or expires is missing, or they are more than 300 seconds apart.',
  'test-key': 'The key is published in a standard, so everyone has it.',
  'untrusted-agent': 'Signature-Agent does not name a key set of an agent of this service.',
  'unknown-key':
    'The agent does not exist, or keyid is not its current key. It may have changed its key.',
  'directory-unavailable': 'The keys of the agent cannot be read at the moment. Try again later.',
  algorithm: 'alg is not ed25519.',
  'bad-signature':
    'The key did not sign this request. A signed header, the URL or the method differs from what was sent.',
  'identification-mismatch': 'The identification header names another agent, or is not signed.',
  suspended: 'The certificate of this agent is suspended.',
  revoked: 'The certificate of this agent is revoked.',
  'not-admitted': 'The policy of the site does not admit this agent.',
  nonce: 'The nonce is missing, or is not 22 to 128 base64url characters.',
  replay: 'The nonce was used before: this is a copy of an earlier request.',
  'too-many-requests': 'The key has used too many nonces in a short time.',
  'replay-unchecked': 'It cannot be determined whether the nonce was used before.',
  digest: 'The body does not match Content-Digest, or Content-Digest cannot be parsed.',
}
