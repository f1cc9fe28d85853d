/** A response of the deployment. */
export interface Answer {
  /** Such as `GET /api/v1/agent/svc%3Aagent%3A…`. */
  readonly request: string
  readonly status: number
  readonly headers: Headers
  /** Lower case, without parameters. */
  readonly mediaType: string
  readonly text: string
  /** The parsed JSON; `undefined` if it is none. */
  readonly body: unknown
}
