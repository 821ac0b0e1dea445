/* Runs before the router reads the address, which throws for a path that can't be decoded, such as `/videos/%`. */

if (!isDecodable(location.pathname))
  history.replaceState(history.state, '', location.pathname.replaceAll('%', '%25') + location.search + location.hash)

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

export {}
