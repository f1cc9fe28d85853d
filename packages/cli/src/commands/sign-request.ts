import { Failure, requestOf } from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { delegateOf, takesChain } from '../chain-option.ts'
import { type Invocation, takesKey } from '../invocation.ts'
import { ownAgent } from '../own-agent.ts'
import { audienceFor, type RequestOptions, readRequest, takesRequest } from './request-options.ts'

const HELP = `
Prints the headers of the signed request, one per line, in the form that curl reads with -H @- or -H @file:
  $ countersign sign-request --url https://shop.example/orders | curl -H @- https://shop.example/orders
  $ countersign sign-request --url https://shop.example/orders -d @order.json \\
      -H 'Content-Type: application/json' > headers.txt
  $ curl -H @headers.txt --data-binary @order.json https://shop.example/orders

Send exactly this request, once, within 60 seconds: the method, address and body that were signed, and no other
Content-Type, Content-Encoding, Authorization or Idempotency-Key. Keep the headers secret: anyone who gets them within
that time can send the request in your place. With --json, the output has method, url and headers.`

interface SignRequestOptions extends RequestOptions {
  readonly method?: string
  readonly chain?: string
}

/** `countersign sign-request --url <url>`: the headers of a signed request. */
export function signRequestCommand(program: Command, cli: Invocation): void {
  takesChain(
    takesRequest(
      takesKey(program.command('sign-request'))
        .description('print the headers of a signed request, for another client to send')
        .option('--url <url>', 'the address of the request; it is signed for its origin only')
        .option('--service <url>', 'the address of the service (COUNTERSIGN_URL)')
        .option('-X, --method <method>', 'the method (default: GET, with a body POST)'),
    ),
  )
    .addHelpText('after', HELP)
    .action((options: SignRequestOptions) => signRequest(options, cli))
}

async function signRequest(options: SignRequestOptions, cli: Invocation): Promise<void> {
  const typed = cli.requestUrl()
  if (typed === undefined)
    throw new Failure('USAGE', 'The address of the request is missing. Give it with --url.')
  const described = await readRequest(typed, options.method ?? null, options, cli)
  const request = requestOf(described)
  const audiences = [audienceFor(described.url, options)]
  const { chain } = options
  const { agent } =
    chain === undefined
      ? await ownAgent(cli, audiences)
      : await delegateOf(cli, chain, { audiences })
  const { method, url, headers } = await agent.sign(request)
  if (url !== typed && url !== `${typed}/`)
    cli.warn(`send the request to ${url}, the address that was signed`)
  const fields = [...headers]
  const lines = fields.map(([name, value]) => `${name}: ${value}`)
  cli.print({ method, url, headers: fields }, lines.join('\n'))
}
