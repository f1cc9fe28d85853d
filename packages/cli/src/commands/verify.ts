import type { VerifyResponse } from '@countersign/protocol'
import type { Command } from 'commander'
import { STATUS_WORDS } from '../certificate.ts'
import { newChallenge } from '../challenge.ts'
import { checkAnswer, faultOf, type Proof, requireProof } from '../check-answer.ts'
import { didIn } from '../deployment.ts'
import { codeOf, EXIT } from '../exit.ts'
import { Failure } from '../failure.ts'
import { fields, heading, print, verdict, wantsJson } from '../output.ts'
import { parseReference, type Reference } from '../reference.ts'
import { isDefaultService, serviceOf, takesService } from '../settings.ts'

const HELP = `
First without options: makes a challenge and says what to do with it. Then with what the agent has answered:
  $ countersign verify <did> --challenge '<challenge>' --signature '<signature>'

Exit code 0 means VERIFIED and nothing else does; 4: not verified, 3: no such agent. Use a challenge once: an answer
that has been seen proves nothing.`

interface VerifyOptions {
  readonly challenge?: string
  readonly signature?: string
}

/** `countersign verify <did|key>` (contract 4.3). */
export function verifyCommand(program: Command): void {
  takesService(program.command('verify'))
    .description('check by a challenge that someone holds the key of an agent')
    .argument('<agent>', 'a DID, its last 24 characters, or a public key in base64')
    .option('--challenge <text>', 'the challenge that the agent was sent')
    .option('--signature <base64>', 'what the agent has answered')
    .addHelpText('after', HELP)
    .action(verify)
}

async function verify(agent: string, options: VerifyOptions, command: Command): Promise<void> {
  const { challenge, signature } = options
  const reference = parseReference(agent)
  const service = serviceOf(command)
  if (challenge === undefined && signature === undefined) {
    return printChallenge(service, reference, command)
  }
  if (challenge === undefined || signature === undefined) {
    throw new Failure('USAGE', 'Give --challenge and --signature, or neither to get a challenge.')
  }
  requireProof({ challenge, signature })
  await check(service, reference, { challenge, signature }, command)
}

function printChallenge(service: URL, { text }: Reference, command: Command): void {
  const challenge = newChallenge()
  const url = isDefaultService(service) ? '' : ` --url ${service.origin}`
  const lines = [
    heading(challenge),
    '',
    'Send it to the agent. It signs it by',
    `  countersign sign '${challenge}'`,
    'or by',
    `  printf %s '${challenge}' > challenge.txt`,
    '  openssl pkeyutl -sign -rawin -inkey agent.pem -in challenge.txt | openssl base64 -A',
    '',
    'Then check what it answers, once:',
    `  countersign verify ${text}${url} --challenge '${challenge}' --signature '<signature>'`,
  ]
  print(command, { agent: text, challenge }, lines.join('\n'))
}

async function check(
  service: URL,
  reference: Reference,
  proof: Proof,
  command: Command,
): Promise<void> {
  try {
    printAnswer(await checkAnswer(service, reference, proof), command)
  } catch (error) {
    const known = ['INVALID_SIGNATURE', 'NOT_FOUND'].includes(codeOf(error))
    if (known && !wantsJson(command)) print(command, null, verdict(false, 'NOT VERIFIED'))
    throw error
  }
}

function printAnswer(answer: VerifyResponse, command: Command): void {
  const { identityLevel, agent } = answer
  const fault = faultOf(answer)
  const lines = [
    verdict(fault === null, fault === null ? 'VERIFIED' : 'NOT VERIFIED'),
    fault ?? 'Whoever signed this challenge holds the key of this agent.',
    '',
    fields([
      ['DID', didIn(agent)],
      ['Name', agent.displayName],
      ['Status', STATUS_WORDS[agent.status]],
      [
        'Owner',
        identityLevel === 'unverified' ? 'identity not verified' : `verified by ${identityLevel}`,
      ],
    ]),
  ]
  print(command, answer, lines.join('\n'))
  if (fault !== null) process.exitCode = EXIT.refused
}
