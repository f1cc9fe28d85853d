import assert from 'node:assert/strict'
import type { Account, SignedUp } from '@countersign/protocol'
import { type Answer, jsonOf } from './answer.ts'
import { type Ask, ask } from './ask.ts'
import { Authenticator, type Misconduct } from './authenticator.ts'
import type { TestService } from './service.ts'

/** A client that behaves like a browser: it stores cookies and sends a browser's headers. */
export class Visitor {
  readonly service: TestService
  readonly cookies = new Map<string, string>()
  readonly authenticator: Authenticator
  /** The headers that the browser adds to every request. */
  readonly headers: Record<string, string>

  constructor(service: TestService) {
    this.service = service
    const { origin } = service.settings.baseUrl
    this.authenticator = new Authenticator(origin)
    this.headers = { origin, 'sec-fetch-site': 'same-origin', 'user-agent': 'a visitor' }
  }

  get(target: string): Promise<Answer> {
    return this.send('GET', target)
  }

  post(target: string, body: object = {}): Promise<Answer> {
    return this.send('POST', target, body)
  }

  async send(method: string, target: string, body?: object): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const init: Ask = {
      method,
      headers: {
        ...this.headers,
        ...(cookie && { cookie }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    }
    const answer = await ask(this.service, target, init)
    for (const each of answer.headers.getSetCookie()) this.#keep(each)
    return answer
  }

  #keep(header: string): void {
    const [pair = '', ...attributes] = header.split('; ')
    const [name = '', value = ''] = pair.split('=')
    if (value === '' || attributes.includes('Max-Age=0')) this.cookies.delete(name)
    else this.cookies.set(name, value)
  }

  /** Signs up with a new passkey. */
  async signUp(username: string, displayName = 'Somebody'): Promise<SignedUp> {
    const options = await this.#options('/api/sign-up/options', { username, displayName })
    const response = this.authenticator.create(options)
    const answer = await this.post('/api/sign-up', { response })
    assert.equal(answer.status, 201, answer.text)
    return jsonOf<SignedUp>(answer)
  }

  /** Signs in with a passkey, by default the last one created. */
  async signIn(
    wrong: Misconduct = {},
    passkey = this.authenticator.passkeys.at(-1),
  ): Promise<Answer> {
    const options = await this.#options('/api/sign-in/passkey/options', {})
    const response = this.authenticator.get(options, wrong, passkey)
    return this.post('/api/sign-in/passkey', { response })
  }

  /** Adds a passkey to the account. */
  async addPasskey(name: string, wrong: Misconduct = {}): Promise<Answer> {
    const options = await this.#options('/api/account/passkeys/options', {})
    const response = this.authenticator.create(options, wrong)
    return this.post('/api/account/passkeys', { response, name })
  }

  async account(): Promise<Account> {
    return jsonOf<Account>(await this.get('/api/account'))
  }

  async #options(target: string, body: object): Promise<unknown> {
    const answer = await this.post(target, body)
    assert.equal(answer.status, 200, answer.text)
    return jsonOf<{ options: unknown }>(answer).options
  }
}
