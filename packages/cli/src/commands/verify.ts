import { randomBytes } from 'node:crypto'
import { EXIT, encodeBase64Url } from '@countersign/protocol'
import type { Verification } from '@countersign/sdk'
import {
  assertProof,
  assertReference,
  codeOf,
  Failure,
  fields,
  type Proof,
  reasonNotVerified,
  STATUS_WORDS,
  verifyProof,
} from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { type Invocation, takesService } from '../invocation.ts'

const HELP = `
Without options, the command creates a challenge for you to send to the agent. Then verify the signature that it returns:
  $ countersign verify <did> --challenge '<challenge>' --signature '<signature>'

Exit code 0: VERIFIED; 4: not verified; 3: no such agent. Only exit code 0 means verified. Use each challenge once: a
replayed signature proves nothing.`

interface VerifyOptions {
  readonly challenge?: string
  readonly signature?: string
}

/** `countersign verify <did|key>` (contract 4.3). */
export function verifyCommand(program: Command, cli: Invocation): void {
  takesService(program.command('verify'))
    .description('verify that a caller holds the key of an agent')
    .argument('<agent>', 'a DID, its last 24 characters, or a public key in base64')
    .option('--challenge <text>', 'the challenge that you sent to the agent')
    .option('--signature <base64>', 'the signature that the agent returned')
    .addHelpText('after', HELP)
    .action((agent: string, options: VerifyOptions) => verify(agent, options, cli))
}

async function verify(
  agent: string,
  { challenge, signature }: VerifyOptions,
  cli: Invocation,
): Promise<void> {
  assertReference(agent)
  if (challenge === undefined && signature === undefined) return printChallenge(agent, cli)
  if (challenge === undefined || signature === undefined) {
    throw new Failure('USAGE', 'Give --challenge and --signature, or neither to get a challenge.')
  }
  assertProof({ challenge, signature })
  await check(agent, { challenge, signature }, cli)
}

function printChallenge(agent: string, cli: Invocation): void {
  const url = cli.isDefaultService ? '' : ` --url ${cli.service.origin}`
  // 256 random bits, in characters that need no quoting in a shell.
  const challenge = `countersign-challenge-${encodeBase64Url(randomBytes(32))}`
  const lines = [
    cli.heading(challenge),
    '',
    'Send this challenge to the agent. The agent signs it with',
    `  countersign sign --unbound '${challenge}'`,
    'or with',
    `  printf %s '${challenge}' > challenge.txt`,
    '  openssl pkeyutl -sign -rawin -inkey agent.pem -in challenge.txt | openssl base64 -A',
    '',
    'Then verify the signature, once:',
    `  ${cli.command} verify ${agent}${url} --challenge '${challenge}' --signature '<signature>'`,
  ]
  cli.print({ agent, challenge }, lines.join('\n'))
}

async function check(agent: string, proof: Proof, cli: Invocation): Promise<void> {
  const registry = cli.registry()
  try {
    const verification = await verifyProof(registry, agent, proof)
    printResult(verification, registry.rawOf(verification), cli)
  } catch (error) {
    const isVerdict = ['INVALID_SIGNATURE', 'NOT_FOUND'].includes(codeOf(error))
    if (isVerdict && !cli.json) cli.print(null, cli.verdict(false, 'NOT VERIFIED'))
    throw error
  }
}

function printResult(verification: Verification, raw: unknown, cli: Invocation): void {
  const { identityLevel, agent } = verification
  const reason = reasonNotVerified(verification)
  const lines = [
    cli.verdict(reason === null, reason === null ? 'VERIFIED' : 'NOT VERIFIED'),
    reason ?? 'The signer holds the key of this agent.',
    '',
    fields([
      ['DID', agent.did],
      ['Name', agent.displayName],
      ['Status', STATUS_WORDS[agent.status]],
      [
        'Owner',
        identityLevel === 'unverified' ? 'identity not verified' : `verified by ${identityLevel}`,
      ],
    ]),
  ]
  cli.print(raw, lines.join('\n'))
  if (reason !== null) cli.exitCode = EXIT.refused
}
