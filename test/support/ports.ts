import { type AddressInfo, createServer } from 'node:net'

/** A port of the loopback interface that nothing listens on. @param host which of its addresses */
export async function freePort(host = 'localhost'): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
