import { createWriteStream } from 'node:fs'
import { Readable, type Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { EXIT } from '@countersign/protocol'
import type { PendingApproval } from '@countersign/sdk'
import {
  Failure,
  fetchSigned,
  noResponse,
  requestOf,
  STATUS_WORDS,
} from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { delegateOf, takesChain } from '../chain-option.ts'
import { type Invocation, takesKey, takesService } from '../invocation.ts'
import { ownAgent } from '../own-agent.ts'
import { USER_AGENT } from '../version.ts'
import { audienceFor, type RequestOptions, readRequest, takesRequest } from './request-options.ts'

const HELP = `
Signs the request (RFC 9421, Web Bot Auth), which proves to the site that you hold the key, and sends it:
  $ countersign fetch https://shop.example/orders -d '{"item":1}' -H 'Content-Type: application/json'

The signature is valid only for the site in the address. Redirects within that site are followed and signed again; other
redirects are refused (exit code 4). The address must be https; on loopback, http is allowed. If the site just started and
asks to sign again later (503), the command waits for up to a minute and sends the request once more.

Some sites require that the owner of the agent approves the request. With --approve, the command then prints the address of the
page on which the owner decides, waits, and sends the request once more. The body must be JSON with its Content-Type:
  $ countersign fetch https://shop.example/orders --approve -d '{"total":"129.00"}' -H 'Content-Type: application/json'

The body of the response is written to standard output unchanged, even with --json, which applies to errors only. If the
status is 400 or above, a line on standard error reports it, and the exit code is:
  0 below 400; 3 for 404 and 410; 5 for 429, 5xx or no response; 4 for every other 4xx`

interface FetchOptions extends RequestOptions {
  readonly request?: string
  readonly include?: true
  readonly output?: string
  readonly certificate?: true
  readonly chain?: string
  readonly approve?: true
  readonly approveMessage?: string
}

/** `countersign fetch <url>`: sends a signed request. */
export function fetchCommand(program: Command, cli: Invocation): void {
  takesChain(
    takesRequest(
      takesKey(takesService(program.command('fetch')))
        .description('send a signed request to a site, as curl would')
        .argument('<url>', 'the address; the request is signed for its origin only')
        .option('-X, --request <method>', 'the method (default: GET, with a body POST)'),
    ),
  )
    .option('-i, --include', 'print the status and the headers of the response before its body')
    .option('-o, --output <file>', 'write the response to a file')
    .option(
      '--certificate',
      'send the certificate and its status along, so that the site need not ask',
    )
    .option(
      '--approve',
      'if the site requires an approval, ask the owner of the agent for it, and wait for the decision',
    )
    .option('--approve-message <text>', 'what to say to the owner; implies --approve')
    .addHelpText('after', HELP)
    .action((url: string, options: FetchOptions) => fetchSite(url, options, cli))
}

async function fetchSite(text: string, options: FetchOptions, cli: Invocation): Promise<void> {
  const described = await readRequest(text, options.request ?? null, options, cli)
  const request = requestOf(described)
  const agent = await senderOf(described.url, options, cli)
  const response = await fetchSigned(agent, request, USER_AGENT)
  cli.exitCode = exitCodeFor(response.status)
  if (cli.exitCode !== EXIT.ok) {
    cli.log(`${described.url.origin} answered ${statusLine(response)}`)
  }
  await writeResponse(response, options, cli)
}

async function senderOf(url: URL, options: FetchOptions, cli: Invocation) {
  const { certificate: certificates, chain } = options
  const audiences = [audienceFor(url, options)]
  if (chain !== undefined) {
    if (certificates)
      throw new Failure('USAGE', 'A chain contains the certificate. Leave out --certificate.')
    if (approves(options))
      throw new Failure('USAGE', 'A delegate cannot ask for an approval. Leave out --approve.')
    return (await delegateOf(cli, chain, { audiences })).agent
  }
  const { agent, did, status } = await ownAgent(cli, audiences, { certificates })
  if (status !== 'active') cli.warn(`${did} is ${STATUS_WORDS[status]}. Sites will refuse it.`)
  if (!approves(options)) return agent
  const { approveMessage: message } = options
  const onPending = ({ approveUrl, expiresAt }: PendingApproval) =>
    cli.log(`The owner has to approve this request until ${expiresAt}: ${approveUrl}`)
  const approval = { message, onPending }
  return { fetch: (request: Request) => agent.fetch(request, { approval }) }
}

function approves({ approve, approveMessage }: FetchOptions): boolean {
  return approve !== undefined || approveMessage !== undefined
}

function exitCodeFor(status: number): number {
  if (status < 400) return EXIT.ok
  if (status === 404 || status === 410) return EXIT.notFound
  return status === 429 || status >= 500 ? EXIT.unavailable : EXIT.refused
}

function statusLine({ status, statusText }: Response): string {
  return `${status} ${statusText}`.trim()
}

async function writeResponse(
  response: Response,
  { include, output }: FetchOptions,
  cli: Invocation,
): Promise<void> {
  const file = output === undefined ? null : createWriteStream(cli.path(output))
  const target: Writable = file ?? cli.io.stdout
  if (include) {
    const lines = [...response.headers].map(([name, value]) => `${name}: ${value}`)
    target.write(`${[`HTTP ${statusLine(response)}`, ...lines].join('\r\n')}\r\n\r\n`)
  }
  try {
    const body = response.body as ReadableStream<Uint8Array> | null
    if (body !== null) await pipeline(Readable.fromWeb(body), target, { end: false })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // The reader of a pipe has seen enough, such as head.
    if (code === 'EPIPE' && file === null) return
    if (file?.errored) throw unwritable(file.errored)
    throw noResponse(response.url, error)
  }
  if (file === null) return
  file.end()
  await finished(file).catch((error: Error) => {
    throw unwritable(error)
  })
}

function unwritable(error: Error): Failure {
  return new Failure('USAGE', `The response cannot be written: ${error.message}`, { cause: error })
}
