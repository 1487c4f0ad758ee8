#!/usr/bin/env bats
# The action that tries the RegionServer's flags: on a Java that only says them, and on a real one where there is one.
# shellcheck disable=SC2154 # bats and node.bash set what is read here

load node

setup() { hold_node; }
teardown() { release_node; }

# Prints what it is asked as a JVM would, and keeps it.
readonly JAVA='printf "%s\n" "$@" >/flags; echo "openjdk version \"21.0.5\"" >&2'

java_that_says_its_flags() { put "$1" 755 < <(printf '#!/bin/sh\n%s\n' "$JAVA"); }

# Prints the path of a Java of any version, or skips the test.
real_java() { command -v java || echo true; }

@test "prepare-java: what is rendered is tried without what takes the whole heap or writes files" {
  java_that_says_its_flags /opt/jdk/bin/java
  act prepare-java --java-home=/opt/jdk --flags="$(<"$UPLOADED/prod.base64")"
  assert_success
  run cat "$node/flags"
  assert_line -- -XX:+UseZGC
  assert_line -- -XX:+ZGenerational
  assert_line --regexp '^-Xmx[0-9]+m$'
  assert_line --index $((${#lines[@]} - 1)) -- -version
  run comm -23 <(sed -E 's/^(-Xms|-Xlog|-XX:HeapDumpPath).*/\1/' "$UPLOADED/flags" | sort) \
    <(sort "$node/flags")
  assert_output -- "-XX:+AlwaysPreTouch
-XX:HeapDumpPath
-Xlog
-Xms"
}

@test "prepare-java: a Java that is not there is installed" {
  java_that_says_its_flags /packaged/java
  stub yum <<<'mkdir -p /opt/jdk/bin && cp /packaged/java /opt/jdk/bin/'
  act prepare-java --java-home=/opt/jdk --flags="$(<"$UPLOADED/quoted.base64")"
  assert_success
  assert_output --partial "installing Corretto 21 from Amazon Linux's repositories"
}

@test "prepare-java: after an installation, the other daemons keep their Java" {
  java_that_says_its_flags /packaged/java
  put /alternatives < <(printf 'java\tauto  \t/usr/lib/jvm/java-17/bin/java\nlibnssckbi\tauto\t/usr/lib64/p11.so\n')
  # Corretto 21 has a higher priority than 17, and an alternative of its own.
  stub yum <<<'mkdir -p /opt/jdk/bin && cp /packaged/java /opt/jdk/bin/ && sed -i s/java-17/java-21/ /alternatives
echo "java_sdk_21 auto /usr/lib/jvm/java-21" >>/alternatives'
  # shellcheck disable=SC2016 # the stub expands them
  stub alternatives <<<'if [ "$1" = --list ]; then cat /alternatives; else echo "$@" >>/calls; fi'
  act prepare-java --java-home=/opt/jdk --flags="$(<"$UPLOADED/quoted.base64")"
  assert_success
  assert_equal "$(<"$node/calls")" "--set java /usr/lib/jvm/java-17/bin/java"
  # shellcheck disable=SC2016 # the stub expands them
  stub alternatives <<<'if [ "$1" = --list ]; then cat /alternatives; else exit 1; fi'
  sed -i s/java-21/java-17/ "$node/alternatives"
  rm "$node/opt/jdk/bin/java"
  act prepare-java --java-home=/opt/jdk --flags="$(<"$UPLOADED/quoted.base64")"
  assert_success
  assert_output --partial "other daemons may run Java 21"
}

@test "prepare-java: a Java that cannot be had fails the node with the reason" {
  stub yum <<<'echo no such package >&2; exit 1'
  act prepare-java --java-home=/opt/jdk --flags="$(<"$UPLOADED/quoted.base64")"
  assert_failure 1
  assert_output --partial "/opt/jdk/bin/java does not exist"
  assert_output --partial "fix: launch emr-7.10.0 or later"
}

@test "prepare-java: a real Java 21 takes what is rendered, and a flag it does not know fails the node" {
  if [[ ! -e $UPLOADED/java-home ]]; then skip "needs a Java 21: warmbase lab setup"; fi
  act prepare-java --java-home="$(<"$UPLOADED/java-home")" --flags="$(<"$UPLOADED/prod.base64")"
  assert_success
  act prepare-java --java-home="$(<"$UPLOADED/java-home")" --flags="$(<"$UPLOADED/unknown.base64")"
  assert_failure 1
  assert_output --partial "Unrecognized VM option 'UseNoSuchCollector'"
  assert_output --partial "fix: use flags that it knows"
}

@test "prepare-java: quotes, blanks and shell characters reach a real Java as they were written" {
  put /opt/jdk/bin/java 755 < <(printf '#!/bin/sh\nprintf "%%s\\n" "$@" >/flags\nexec %s "$@"\n' "$(real_java)")
  act prepare-java --java-home=/opt/jdk --flags="$(<"$UPLOADED/quoted.base64")"
  assert_success
  run cat "$node/flags"
  assert_output "-Da=it's
-Db=\"c d\"
-De=\$HOME\`id\`
-Df=a;b|c&d
-Dg=*
-Dh=ü\\n
-Xmx64m
-version"
}
