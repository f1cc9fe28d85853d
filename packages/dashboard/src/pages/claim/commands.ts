/** The data that the commands contain. */
export interface ClaimData {
  readonly token: string
  /** The owner's label for the agent: only characters that no shell interprets. */
  readonly label: string
  readonly baseUrl: string
  /** The package of the command, as npx takes it. */
  readonly cliPackage: string
  readonly shortName: string
  readonly serviceName: string
  /** When the token expires, as text. */
  readonly until: string
}

/**
 * The labels that are safe in commands without quoting, and cannot be mistaken for an option. The service accepts
 * more.
 */
export const PLAIN_LABEL = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/** For the `countersign` CLI (packages/cli/README.md): one command. */
export function countersignCommand({ token, label, baseUrl, cliPackage }: ClaimData): string {
  return `npx -y ${cliPackage} claim \\
  ${token} \\
  --agent-id ${label} \\
  --url ${baseUrl} \\
  --create-key`
}

/** For agents without the CLI (docs/quickstart.md; contract 4.4). */
export function opensslCommands({ token, label, baseUrl }: ClaimData): string {
  return `URL=${baseUrl}
TOKEN=${token}
LABEL=${label}

# Create the agent's key unless it exists. Keep the file secret.
[ -f agent.pem ] || (umask 077; openssl genpkey -algorithm ed25519 -out agent.pem)
PUBLIC_KEY=$(openssl pkey -in agent.pem -pubout -outform DER | tail -c 32 | openssl base64 -A)

# Sign the token, a | and the label, without a newline.
printf '%s' "$TOKEN|$LABEL" > claim.txt
SIGNATURE=$(openssl pkeyutl -sign -inkey agent.pem -rawin -in claim.txt | openssl base64 -A)
printf '{"claimToken":"%s","agentId":"%s","publicKey":"%s","signature":"%s"}' \\
  "$TOKEN" "$LABEL" "$PUBLIC_KEY" "$SIGNATURE" |
  curl -sS "$URL/api/v1/claim" -H 'Content-Type: application/json' -d @-`
}

/** For agents that follow instructions in natural language. */
export function sentenceForAgent(data: ClaimData): string {
  const { token, label, baseUrl, shortName, serviceName, until } = data
  return `Claim your identity certificate from ${serviceName} for me. Use your Ed25519 key. If you have none, create one, store it safely, and never reveal the private key. Sign exactly this text, without a newline: ${token}|${label}
Then POST JSON to ${baseUrl}/api/v1/claim with four fields: claimToken is ${token}; agentId is ${label}; publicKey is your public key, its 32 bytes in padded standard base64; signature is the 64 bytes of the signature, in padded standard base64.
The token works once and expires at ${until}. Do not share it. The response contains your DID in the field ${shortName}Did: tell me what it is. The API is described at ${baseUrl}/openapi.json.`
}
