import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { encodeBase64 } from '@countersign/protocol'
import type { Command } from 'commander'
import { challengeBytes } from '../challenge.ts'
import { Failure } from '../errors.ts'
import { type Invocation, takesKey } from '../invocation.ts'

const HELP = `
Signs the UTF-8 bytes of the challenge, nothing before or after, and prints the signature in base64 alone. With - the
challenge is read from standard input to its end, exactly as it comes: a newline at the end is signed too.
  $ printf %s '<challenge>' | countersign sign -

Asks no service. Refuses (exit code 4) what has the form of a claim, <name>-verify-<32 hexadecimal characters>|…,
because a signature on that would give your key to whoever issued the token.`

/** `countersign sign <challenge>`: the answer to a challenge (contract 4.3). */
export function signCommand(program: Command, cli: Invocation): void {
  takesKey(program.command('sign'))
    .description('sign a challenge, to prove that you hold the key')
    .argument('<challenge>', 'the text that someone has sent you, or - for standard input')
    .addHelpText('after', HELP)
    .action((challenge: string) => sign(challenge, cli))
}

async function sign(argument: string, cli: Invocation): Promise<void> {
  const challenge = argument === '-' ? await readChallenge(cli.io.stdin) : argument
  const message = challengeBytes(challenge)
  const key = await cli.ownKey()
  const publicKey = encodeBase64(key.publicKey)
  const signature = encodeBase64(await key.sign(message))
  cli.print({ publicKey, challenge, signature }, signature)
}

/** Keeps every byte: a byte order mark and white space are part of the challenge. */
async function readChallenge(stdin: Readable): Promise<string> {
  const bytes = await buffer(stdin)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new Failure('USAGE', 'The challenge on standard input is not UTF-8.', { cause })
  }
}
