/** Whether a host name can only be reached from this machine: localhost, 127.0.0.0/8, ::1. @param hostname as in `URL.hostname` */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || IPV4.test(hostname)
}

/** `URL.hostname` has IPv4 addresses in canonical form. */
const IPV4 = /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/
