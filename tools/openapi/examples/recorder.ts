import { EXAMPLE_URL, type ExampleService, passTime } from './example-service.ts'

/** A request and its answer. Credentials, and bodies that are no text, are left out. */
export interface Example {
  readonly request: {
    readonly target: string
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: unknown
  }
  readonly response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    /** JSON, or text. */
    readonly body?: unknown
  }
}

/** By operation id, the usual answer first; of errors by code; and the deliveries of a webhook. */
export interface Examples {
  readonly operations: Readonly<Record<string, readonly Example[]>>
  readonly errors: Readonly<Record<string, Example>>
}

export interface Call {
  readonly headers?: Readonly<Record<string, string>>
  /** A value to send as JSON, or bytes. */
  readonly body?: unknown
  /** The status of the answer: 200 unless said otherwise. */
  readonly status?: number
}

/** Headers that an answer of an operation always has, or that mean the same in all of them, are left out. */
const RESPONSE_HEADERS = [
  'content-type',
  'etag',
  'cache-control',
  'location',
  'link',
  'deprecation',
  'retry-after',
  'allow',
  'content-disposition',
  'www-authenticate',
]

/** Stands for the DNS server, whose port differs from run to run. */
const RESOLVER = '192.0.2.53'

/** How much time passes between two requests. */
const STEP_MS = 1000

/** Sends requests to the service of the examples, as one browser or client, and stores what is sent and answered. */
export class Recorder {
  readonly #service: ExampleService
  readonly #operations: Record<string, Example[]>
  readonly #errors: Record<string, Example>
  readonly #cookies = new Map<string, string>()

  constructor(service: ExampleService, known: Recorder | null = null) {
    this.#service = service
    this.#operations = known === null ? {} : known.#operations
    this.#errors = known === null ? {} : known.#errors
  }

  get examples(): Examples {
    const sorted = <T>(examples: Record<string, T>): Record<string, T> =>
      Object.fromEntries(Object.entries(examples).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    return { operations: sorted(this.#operations), errors: sorted(this.#errors) }
  }

  /** Another browser. */
  another(): Recorder {
    return new Recorder(this.#service, this)
  }

  /** Sends a request and stores it as an example of an operation. @returns the body of the answer */
  async record<T = Record<string, unknown>>(
    operationId: string,
    method: string,
    target: string,
    call: Call = {},
  ): Promise<T> {
    const example = await this.#send(method, target, call)
    const examples = this.#operations[operationId] ?? []
    this.#operations[operationId] = examples
    examples.push(example)
    return example.response.body as T
  }

  /** Stores a refusal as the example of its code. */
  async refuse(method: string, target: string, call: Call & { status: number }): Promise<void> {
    const example = await this.#send(method, target, call)
    const { error } = example.response.body as { error: { code: string } }
    if (error.code in this.#errors) throw new Error(`${error.code} is recorded twice`)
    this.#errors[error.code] = example
  }

  /** Sends a request that is no example. @returns the body of the answer */
  async send<T = Record<string, unknown>>(
    method: string,
    target: string,
    call: Call = {},
  ): Promise<T> {
    return (await this.#send(method, target, call)).response.body as T
  }

  async #send(method: string, target: string, call: Call): Promise<Example> {
    const { headers = {}, body, status = 200 } = call
    passTime(STEP_MS)
    const isBytes = body instanceof Uint8Array
    const type = body === undefined || isBytes ? {} : { 'content-type': 'application/json' }
    const response = await fetch(this.#service.url + target, {
      method,
      redirect: 'manual',
      headers: { 'user-agent': BROWSER, ...this.#credentials(), ...type, ...headers },
      ...(body !== undefined && { body: isBytes ? body : JSON.stringify(body) }),
    })
    const answer = await bodyOf(response, this.#service.dns.address)
    if (response.status !== status)
      throw new Error(`${method} ${target}: ${response.status} ${JSON.stringify(answer)}`)
    this.#keepCookies(response.headers)
    const { authorization: _, ...shown } = headers
    const sent = { ...type, ...shown }
    return {
      request: {
        target,
        ...(Object.keys(sent).length > 0 && { headers: sent }),
        ...(body !== undefined && !isBytes && { body }),
      },
      response: { status, headers: toldHeaders(response.headers, answer), body: answer },
    }
  }

  #credentials(): Record<string, string> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    return cookie === '' ? { origin: EXAMPLE_URL } : { cookie, origin: EXAMPLE_URL }
  }

  #keepCookies(headers: Headers): void {
    for (const each of headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
      if (value === '') this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
  }
}

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'

/** @param body without it, the tag of what is built or drawn would differ between machines */
function toldHeaders(headers: Headers, body: unknown): Record<string, string> {
  const told = RESPONSE_HEADERS.flatMap((name) => {
    const value = headers.get(name)
    return value === null ? [] : [[name, name === 'etag' && body === undefined ? TAG : value]]
  })
  return Object.fromEntries(told)
}

const TAG = '"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"'

/** Pages are built, and pictures are no text: both are left out. Of an event stream, the first event. */
async function bodyOf(response: Response, resolver: string): Promise<unknown> {
  const type = response.headers.get('content-type') ?? ''
  if (type.startsWith('text/event-stream')) return firstEvent(response)
  const text = (await response.text()).replaceAll(resolver, RESOLVER)
  if (/[/+]json(;|$)/.test(type)) return JSON.parse(text)
  return text === '' || /^(text\/html|image\/(png|webp))/.test(type) ? undefined : text
}

async function firstEvent(response: Response): Promise<string> {
  let text = ''
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString('utf8')
    if (text.includes('\n\n')) break
  }
  return `${text.split('\n\n')[0]}\n\n`
}
