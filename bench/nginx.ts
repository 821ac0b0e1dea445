import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

/** One worker of nginx with sendfile. */
export interface Nginx extends AsyncDisposable {
  port: number
  /** The same with TLS. Paths below /v1/ go to the application. */
  tlsPort: number
}

export function hasNginx(): boolean {
  return spawnSync('nginx', ['-v']).status === 0
}

export async function startNginx(folder: string, files: string, appPort: number): Promise<Nginx> {
  mkdirSync(join(folder, 'logs'), { recursive: true })
  createCertificate(folder)
  const [port, tlsPort] = [await freePort(), await freePort()]
  const config = `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log; user root;
    events { worker_connections 256; }
    http { access_log off; sendfile on; tcp_nopush on; types { video/mp4 mp4; } keepalive_requests 1000000;
      upstream app { server 127.0.0.1:${appPort}; keepalive 32; }
      server { listen 127.0.0.1:${port}; root ${files}; }
      server { listen 127.0.0.1:${tlsPort} ssl; root ${files};
        ssl_certificate ${folder}/certificate.pem; ssl_certificate_key ${folder}/key.pem;
        location /v1/ {
          proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_max_temp_file_size 0; } } }`
  writeFileSync(join(folder, 'nginx.conf'), config)
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' })
  const up = () =>
    fetch(`http://127.0.0.1:${port}/`, { method: 'HEAD' }).then(
      () => true,
      () => false,
    )
  while (!(await up())) {
    if (child.exitCode !== null) throw new Error('nginx did not start')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return {
    port,
    tlsPort,
    async [Symbol.asyncDispose]() {
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
    },
  }
}

function createCertificate(folder: string): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', join(folder, 'key.pem')]
  const name = ['-subj', '/CN=bench', '-days', '2', '-out', join(folder, 'certificate.pem')]
  const { status, stderr } = spawnSync('openssl', ['req', '-x509', ...key, ...name], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`openssl created no certificate: ${stderr}`)
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  await once(probe, 'close')
  return port
}
