import type { ExecTarget } from '../../agent-protocol/tunnel-protocol.js';
import { nameIt } from '../files/name-it.js';
import { firstLine } from '../first-line.js';
import type { Tunnel } from '../tunnels.js';
import { type Connected, openCommand } from './command.js';

/*
 * Unix sockets inside a container are opened by a program that runs there as the login's user. If the agent resolved a
 * path from outside, it could reach sockets on the host. The program needs perl, which is included in Debian and Ubuntu
 * images (even slim ones) and possibly in others.
 */

const NEEDS_PERL =
  'command -v perl >/dev/null || { echo "-the image has no perl, which Unix sockets require"; exit 1; }';

/** Prints `+` once connected, or `-` and the reason. It then passes on bytes. Each side can end its own half first. */
const CONNECT = String.raw`use strict; use Socket; $|=1; $SIG{PIPE}="IGNORE";
my $p=$ARGV[0]; my $s; my $n=eval { pack_sockaddr_un($p) };
unless (defined $n and socket($s, AF_UNIX, SOCK_STREAM, 0) and connect($s, $n)) { my $w=$!; $w=~s/\n/ /g; print "-$w\n"; exit 1 }
print "+\n";
my $k=fork; exit 1 unless defined $k;
sub pass { my ($f,$t)=@_; my $b; while (my $z=sysread $f,$b,65536) { my $o=0; while ($o<$z) { my $w=syswrite $t,$b,$z-$o,$o; return unless defined $w; $o+=$w } } }
if ($k==0) { pass(\*STDIN,$s); shutdown $s,1; exit 0 }
pass($s,\*STDOUT); kill "TERM",$k; exit 0`;

/**
 * Listens on a socket that only the user can access, and prints `+` and its path. Each connection has a number. A frame
 * consists of that number, a length and the bytes. A length of zero ends the connection.
 */
const LISTEN = String.raw`use strict; use Socket; $|=1; $SIG{PIPE}="IGNORE"; umask 077;
my $d="/tmp/ssh-".join "",map { ("a".."z")[rand 26] } 1..16; my $p="$d/agent"; my $l;
END { unlink $p if defined $p; rmdir $d if defined $d }
$SIG{$_}=sub { exit 0 } for qw(HUP TERM INT);
unless (mkdir($d,0700) and socket($l,AF_UNIX,SOCK_STREAM,0) and bind($l,pack_sockaddr_un($p)) and listen($l,16)) { print "-$!\n"; exit 1 }
print "+$p\n";
my (%c,%n); my $last=0; my $in="";
sub put { my ($t,$b)=@_; my $o=0; while ($o<length $b) { my $w=syswrite $t,$b,length($b)-$o,$o; return unless defined $w; $o+=$w } }
sub drop { my $i=shift; my $h=delete $c{$i} or return; delete $n{fileno $h}; close $h }
while (1) {
  my $r=""; vec($r,fileno $_,1)=1 for \*STDIN,$l,values %c;
  next if select($r,undef,undef,undef)<0;
  if (vec $r,fileno STDIN,1) {
    exit 0 unless sysread STDIN,$in,65536,length $in;
    while (length $in>=8) {
      my ($i,$z)=unpack "NN",$in; last if length $in<8+$z;
      my $b=substr $in,8,$z; substr($in,0,8+$z)="";
      if ($z==0) { drop($i) } elsif (my $h=$c{$i}) { put($h,$b) }
    }
  }
  for my $h (values %c) {
    next unless defined fileno $h and vec $r,fileno $h,1;
    my $i=$n{fileno $h}; my $z=sysread $h,my $b,16384;
    put(\*STDOUT,pack("NN",$i,$z||0).($z?$b:"")); drop($i) unless $z;
  }
  if (vec $r,fileno $l,1 and accept my $h,$l) {
    if (keys %c>=16) { close $h } else { $c{++$last}=$h; $n{fileno $h}=$last }
  }
}`;

/** Thrown if the program couldn't be started. It supplied the message itself. */
export class RelayRefused extends Error {}

export function connectUnix(connected: Connected, path: string): Promise<Tunnel> {
  return relay(connected, `${NEEDS_PERL}; ${nameIt(Buffer.from(path))}; exec perl -e "$0" -- "$f"`, CONNECT).then(
    ([tunnel]) => tunnel,
  );
}

/** Resolves to the tunnel and the socket's path. */
export function listenUnix(connected: Connected): Promise<[Tunnel, path: string]> {
  return relay(connected, `${NEEDS_PERL}; exec perl -e "$0"`, LISTEN);
}

async function relay(connected: Connected, script: string, program: string): Promise<[Tunnel, reply: string]> {
  const target: ExecTarget = {
    kind: 'exec',
    command: null,
    argv: ['/bin/sh', '-c', script, program],
    env: {},
    terminal: null,
  };
  const tunnel = await openCommand(connected, target);
  tunnel.on('error', () => {});
  tunnel.stderr.resume();
  try {
    const [line, rest] = await firstLine(tunnel);
    if (!line.startsWith('+')) throw new RelayRefused(line.slice(1, 200) || 'failed');
    if (rest.length > 0) tunnel.unshift(rest);
    return [tunnel, line.slice(1)];
  } catch (error) {
    tunnel.destroy();
    throw error instanceof RelayRefused ? error : new RelayRefused('the image has no shell');
  }
}
