import { buffer } from 'node:stream/consumers'
import type { Command } from 'commander'
import { challengeBytes } from '../challenge.ts'
import { Failure } from '../failure.ts'
import { print } from '../output.ts'
import { ownKey } from '../own-key.ts'
import { takesKey } from '../settings.ts'

const HELP = `
Signs the UTF-8 bytes of the challenge, nothing before or after, and prints the signature in base64 alone. With - the
challenge is read from standard input to its end, exactly as it comes: a newline at the end is signed too.
  $ printf %s '<challenge>' | countersign sign -

Asks no service. Refuses (exit code 4) what has the form of a claim, <name>-verify-<32 hexadecimal characters>|…,
because a signature on that would give your key to whoever issued the token.`

/** `countersign sign <challenge>`: the answer to a challenge (contract 4.3). */
export function signCommand(program: Command): void {
  takesKey(program.command('sign'))
    .description('sign a challenge, to prove that you hold the key')
    .argument('<challenge>', 'the text that someone has sent you, or - for standard input')
    .addHelpText('after', HELP)
    .action(sign)
}

async function sign(argument: string, _options: unknown, command: Command): Promise<void> {
  const challenge = argument === '-' ? await readChallenge() : argument
  const message = challengeBytes(challenge)
  const key = ownKey(command)
  const signature = key.sign(message)
  print(command, { publicKey: key.publicKey, challenge, signature }, signature)
}

/** Not one byte is dropped: a byte order mark belongs to the challenge, and so does white space. */
async function readChallenge(): Promise<string> {
  const bytes = await buffer(process.stdin)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new Failure('USAGE', 'The challenge on standard input is not UTF-8.', { cause })
  }
}
