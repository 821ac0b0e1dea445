/** A range of IP addresses. */
interface IpRange {
  readonly address: string
  readonly bits: number
  readonly family: 'ipv4' | 'ipv6'
}

/** `10.0.0.0/8`, `2001:db8::/32`, or one address. */
export function readIpRange(text: string): IpRange | undefined {
  const [address = '', bits, ...rest] = text.split('/')
  const family = familyOf(address)
  const most = family === 'ipv4' ? 32 : 128
  const count = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN
  return family && rest.length === 0 && count <= most ? { address, bits: count, family } : undefined
}

export function familyOf(address: string): IpRange['family'] | undefined {
  // With a zero before it, a number would be octal for some programs.
  if (/^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/.test(address))
    return address.split('.').every((part) => Number(part) <= 255) ? 'ipv4' : undefined
  return /^[\da-f:.]{2,45}$/i.test(address) && URL.canParse(`http://[${address}]/`) ? 'ipv6' : undefined
}
