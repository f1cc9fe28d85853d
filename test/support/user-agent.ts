import assert from 'node:assert/strict'

/** The page at the end of a chain of redirects. */
export interface Page {
  readonly url: URL
  readonly status: number
  readonly text: string
}

const MOST_REDIRECTS = 20

/**
 * A minimal browser: it stores cookies, follows redirects and submits forms. Like in browsers, cookies are shared between
 * the ports of a host.
 */
export class UserAgent {
  readonly #cookies = new Map<string, string>()

  /** @param cookies in the format of a Cookie header, such as `a=1; b=2` */
  constructor(...cookies: readonly string[]) {
    for (const pair of cookies.flatMap((each) => each.split('; '))) this.#keep(pair)
  }

  get cookie(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  forget(namePart: string): void {
    for (const name of this.#cookies.keys()) if (name.includes(namePart)) this.#cookies.delete(name)
  }

  /** Stores the cookies of a response. */
  take(headers: Headers): void {
    for (const each of headers.getSetCookie()) this.#keep(each.split(';')[0] as string)
  }

  /** Sends one request without following redirects. */
  async request(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const headers = { ...(init.headers as Record<string, string>), cookie: this.cookie }
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    this.take(response.headers)
    return response
  }

  /** Requests a URL and follows redirects to a page, or to a URL that `until` accepts, which is not requested. */
  async visit(url: string | URL, until: (url: URL) => boolean = () => false): Promise<Page> {
    return this.#follow(new URL(url), {}, until)
  }

  /** Fills in and submits the first form of a page. */
  async submit(
    page: Page,
    fields: Record<string, string>,
    until: (url: URL) => boolean = () => false,
  ): Promise<Page> {
    const action = /<form method="post" action="([^"]+)"/.exec(page.text)?.[1]
    assert.ok(action, `a form in ${page.text}`)
    const init = { method: 'POST', body: new URLSearchParams(fields) }
    return this.#follow(new URL(action, page.url), init, until)
  }

  async #follow(start: URL, init: RequestInit, until: (url: URL) => boolean): Promise<Page> {
    let url = start
    let request = init
    for (let i = 0; i < MOST_REDIRECTS; i++) {
      if (until(url)) return { url, status: 0, text: '' }
      const response = await this.request(url, request)
      const text = await response.text()
      const location = response.headers.get('location')
      if (location === null) return { url, status: response.status, text }
      url = new URL(location, url)
      request = {}
    }
    throw new Error(`redirects without end, at ${url.origin}`)
  }

  #keep(pair: string): void {
    const at = pair.indexOf('=')
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)]
    if (value === '') this.#cookies.delete(name)
    else this.#cookies.set(name, value)
  }
}
