/** Whether a host name, as URL has it, can only be reached from this machine: localhost, 127.0.0.0/8, ::1. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || IPV4.test(hostname)
}

/** URL writes every IPv4 address in its one canonical form. */
const IPV4 = /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/
