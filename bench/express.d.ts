// The parts of Express that naive.ts uses, because @types/express is not a dependency of this project.
declare module 'express' {
  export interface Request {
    readonly params: Readonly<Record<string, string>>
    readonly body: unknown
    accepts(types: readonly string[]): string | false
  }
  export interface Response {
    status(code: number): Response
    type(type: string): Response
    json(body: unknown): Response
  }
  type Handler = (request: Request, response: Response) => unknown
  interface App {
    use(handler: unknown): App
    use(path: string, handler: unknown): App
    all(path: string, handler: unknown): App
    get(path: string, handler: Handler): App
    post(path: string, handler: Handler): App
    listen(port: number, host: string): unknown
  }
  const express: {
    (): App
    json(): unknown
    raw(): unknown
    text(): unknown
    urlencoded(options: { extended: boolean }): unknown
  }
  export default express
}
