/**
 * A copy of a request with other headers. Next.js hands out a proxy of its requests, of which the constructor cannot make a copy: the
 * copy then has the parts that a handler reads.
 */
export function withHeaders(request: Request, headers: Headers): Request {
  try {
    return new Request(request, { headers })
  } catch (error) {
    if (!(error instanceof TypeError) || request.bodyUsed) throw error
    const { url, method, body, signal } = request
    return new Request(url, { method, headers, body, signal, ...(body && { duplex: 'half' }) })
  }
}
