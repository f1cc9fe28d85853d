/** What is put together from a token, for whoever is to redeem it. */
export interface ClaimFacts {
  readonly token: string
  /** The owner's own label for the agent: letters, digits, `.`, `_` and `-` only, so that no shell reads anything into it. */
  readonly label: string
  readonly baseUrl: string
  readonly shortName: string
  readonly serviceName: string
  /** Until when the token is good, in words. */
  readonly until: string
}

/** What a label may be in these commands: nothing that would have to be quoted, or be taken for an option. The service takes more. */
export const PLAIN_LABEL = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/** For our own command (packages/cli/README.md). */
export function countersignCommands({ token, label, baseUrl }: ClaimFacts): string {
  return `countersign keygen
countersign claim ${token} \\
  --agent-id ${label} --url ${baseUrl}`
}

/** With nothing of ours on the agent's side (docs/quickstart.md; contract 4.4). */
export function opensslCommands({ token, label, baseUrl }: ClaimFacts): string {
  return `URL=${baseUrl}
TOKEN=${token}
LABEL=${label}

# The agent's key, unless it has one already. Keep the file secret.
[ -f agent.pem ] || (umask 077; openssl genpkey -algorithm ed25519 -out agent.pem)
PUBLIC_KEY=$(openssl pkey -in agent.pem -pubout -outform DER | tail -c 32 | openssl base64 -A)

# It signs the token, a | and the label, without a newline.
printf '%s' "$TOKEN|$LABEL" > claim.txt
SIGNATURE=$(openssl pkeyutl -sign -inkey agent.pem -rawin -in claim.txt | openssl base64 -A)
printf '{"claimToken":"%s","agentId":"%s","publicKey":"%s","signature":"%s"}' \\
  "$TOKEN" "$LABEL" "$PUBLIC_KEY" "$SIGNATURE" |
  curl -sS "$URL/api/v1/claim" -H 'Content-Type: application/json' -d @-`
}

/** For an agent that reads and acts. */
export function sentenceForAgent(facts: ClaimFacts): string {
  const { token, label, baseUrl, shortName, serviceName, until } = facts
  return `Claim your identity certificate from ${serviceName} for me. Use your Ed25519 key; if you have none, make one, keep it, and never show its private half to anyone. Sign exactly this text, without a newline: ${token}|${label}
Then POST JSON to ${baseUrl}/api/v1/claim with four fields: claimToken is ${token}; agentId is ${label}; publicKey is your public key, its 32 bytes in padded standard base64; signature is the 64 bytes of the signature, in padded standard base64.
The token is good once, until ${until}; give it to nobody else. The answer holds your DID in the field ${shortName}Did: tell me what it is. The interface is described at ${baseUrl}/openapi.json.`
}
