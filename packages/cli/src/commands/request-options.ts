import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { SIGNATURE_AGENT_DIALECTS } from '@countersign/protocol'
import type { AudienceOptions } from '@countersign/sdk'
import { Failure, parseSiteUrl, type SiteRequest } from '@countersign/sdk/tool-support'
import { type Command, Option } from 'commander'
import type { Invocation } from '../invocation.ts'

/** Options that describe a request, named as curl names them. */
export interface RequestOptions {
  readonly header: readonly string[]
  readonly data: readonly string[]
  readonly dialect: NonNullable<AudienceOptions['dialect']>
  readonly signatureAgent?: string
}

/** Adds the options of a request to a command. */
export function takesRequest(command: Command): Command {
  return command
    .option('-H, --header <line>', "such as 'Accept: text/plain'; may be repeated", append, [])
    .option(
      '-d, --data <data>',
      'the body; @file reads a file, @- standard input; repeated values are joined by &',
      append,
      [],
    )
    .addOption(
      new Option('--dialect <name>', 'the form of Signature-Agent that the site reads')
        .choices(SIGNATURE_AGENT_DIALECTS)
        .default('ietf'),
    )
    .option(
      '--signature-agent <url>',
      'the origin at which you publish your key; required for the dialects legacy and origin',
    )
}

/** The request that the options describe. @param method null: POST with a body, else GET */
export async function readRequest(
  text: string,
  method: string | null,
  { header, data }: RequestOptions,
  cli: Invocation,
): Promise<SiteRequest> {
  const url = parseSiteUrl(text)
  const headers = header.map(parseHeader)
  const body = data.length === 0 ? null : await readBody(data, cli)
  const isTyped = headers.some(([name]) => name.toLowerCase() === 'content-type')
  if (body !== null && !isTyped) headers.push(['content-type', 'application/x-www-form-urlencoded'])
  return { url, method: method ?? (body === null ? 'GET' : 'POST'), headers, body }
}

/** The site of a request as an audience of the agent: the address that the user typed, and no other. */
export function audienceFor(
  url: URL,
  { dialect, signatureAgent }: RequestOptions,
): AudienceOptions {
  return { origin: url.origin, dialect, signatureAgent }
}

function parseHeader(line: string): [name: string, value: string] {
  const colon = line.indexOf(':')
  if (colon > 0) return [line.slice(0, colon), line.slice(colon + 1).trim()]
  // The message does not repeat the line: it could contain a secret.
  throw new Failure('USAGE', "A header is a name, a colon and a value: -H 'Accept: text/plain'.")
}

async function readBody(
  data: readonly string[],
  cli: Invocation,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  for (const [i, each] of data.entries()) {
    if (i > 0) parts.push(Buffer.from('&'))
    parts.push(await readData(each, cli))
  }
  return new Uint8Array(Buffer.concat(parts))
}

async function readData(text: string, cli: Invocation): Promise<Uint8Array> {
  if (text === '@-') return buffer(cli.io.stdin)
  if (!text.startsWith('@')) return Buffer.from(text)
  try {
    return await readFile(cli.path(text.slice(1)))
  } catch (cause) {
    const message = `The file for the body cannot be read: ${(cause as Error).message}`
    throw new Failure('USAGE', message, { cause })
  }
}

function append(value: string, previous: readonly string[]): readonly string[] {
  return [...previous, value]
}
