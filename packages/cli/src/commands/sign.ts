import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { BOUND_CHALLENGE, encodeBase64 } from '@countersign/protocol'
import {
  audienceOf,
  challengeBytes,
  Failure,
  parseOrigin,
  wrongAudience,
} from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { refusesChain } from '../chain-option.ts'
import { type Invocation, takesKey } from '../invocation.ts'

const HELP = `
Signs the UTF-8 bytes of the challenge and prints only the signature, in base64. With -, the challenge is read from
standard input up to the end, so use printf, not echo: a newline is refused.
  $ printf %s '<challenge>' | countersign sign --audience https://shop.example -

Give the origin of the site that you are connected to with --audience. Only a challenge for that origin is signed:
<name>-challenge-v1:<origin>:<nonce>. Never copy the origin from the challenge: the site may be relaying a challenge of
another site. --unbound signs a challenge that names no origin. Anyone who gets that signature can use it.

Works offline. Refused with exit code 4: challenges for another site, control characters such as a trailing newline, and
what could be signed bytes of another purpose: claims; texts whose part before the first dot decodes to the header of a
JWS (RFC 7515); signature bases of HTTP requests (RFC 9421); key operations and other texts whose first line is
<name>-<words>-v<digits>; SSH signatures; DSSE envelopes.`

interface SignOptions {
  readonly audience?: string
  readonly unbound?: true
}

/** `countersign sign (--audience <origin> | --unbound) <challenge>`: the answer to a challenge (contract 4.3). */
export function signCommand(program: Command, cli: Invocation): void {
  refusesChain(takesKey(program.command('sign')))
    .description('sign a challenge, to prove that you hold the key')
    .argument('<challenge>', 'the challenge that you received, or - to read it from standard input')
    .option(
      '--audience <origin>',
      'the origin of the site that you are connected to, such as https://shop.example',
    )
    .option('--unbound', 'sign a challenge that names no site')
    .addHelpText('after', HELP)
    .action((challenge: string, options: SignOptions) => sign(challenge, options, cli))
}

async function sign(argument: string, options: SignOptions, cli: Invocation): Promise<void> {
  const audience = expectedAudience(options)
  const challenge = argument === '-' ? await readChallenge(cli.io.stdin) : argument
  const message = challengeBytes(challenge)
  assertExpected(challenge, audience)
  const key = await cli.ownKey()
  const publicKey = encodeBase64(key.publicKey)
  const signature = encodeBase64(await key.sign(message))
  cli.print({ publicKey, challenge, signature }, signature)
}

/** @returns null for `--unbound`. @throws Failure USAGE */
function expectedAudience({ audience, unbound }: SignOptions): string | null {
  if ((audience === undefined) === (unbound === undefined)) {
    throw new Failure(
      'USAGE',
      'Give --audience <origin> with the origin of the site that sent the challenge, or --unbound if the challenge names no site.',
    )
  }
  return audience === undefined ? null : parseOrigin(audience, '--audience')
}

/** @throws Failure WRONG_AUDIENCE, NOT_A_CHALLENGE */
function assertExpected(challenge: string, audience: string | null): void {
  const named = audienceOf(challenge)
  if (audience !== null && named === null) {
    throw new Failure(
      'NOT_A_CHALLENGE',
      'Nothing was signed: this challenge does not name a site (<name>-challenge-v1:<origin>:<nonce>). To sign it anyway, use --unbound. Anyone who gets the signature can then use it.',
    )
  }
  if (audience !== null && named !== null && named !== audience)
    throw wrongAudience(named, audience)
  if (audience === null && BOUND_CHALLENGE.test(challenge)) {
    throw new Failure(
      'WRONG_AUDIENCE',
      'Nothing was signed: this challenge names a site. Give the origin at which you reach that site: --audience <origin>',
    )
  }
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
